"""A table of raw columns to a matrix, as one estimator: what it learns, it learns from the rows given to `fit`."""

import json
from dataclasses import asdict
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, PolynomialFeatures

from evenhand.data.frames import SomeRows
from evenhand.data.splits import sides_of
from evenhand.errors import DataError, listed, nearest
from evenhand.estimators._columns import CodedColumns, ReadColumns
from evenhand.estimators._door import named_at
from evenhand.estimators.encoding.binning import CutPoints
from evenhand.estimators.encoding.column_weights import ColumnWeights
from evenhand.estimators.encoding.forest_ranking import ForestRanking
from evenhand.estimators.encoding.spline_columns import SplineColumns
from evenhand.estimators.encoding.top_values import TopValues
from evenhand.estimators.outlier_rows import OutlierRows
from evenhand.models.encoder_steps import coded, new_step, step_entry
from evenhand.models.entries.encoders import StepRequest
from evenhand.models.packing.few_columns import AsRead, fitted_as_read, is_alone
from evenhand.models.packing.parts import dense, fitted_part, is_packable, packed, part, steps_of, width_of
from evenhand.records.pipeline import Feature, Output, Table
from evenhand.storage.packed import Dummies, after_steps
from evenhand.study.study import Encoding, Study

Block = tuple[str, list[str], Any]
LARGEST = 1e150  # squares of larger numbers soon overflow


@named_at("evenhand.models")
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a frame of raw columns as the study's encoding says; `outputs_` names what each matrix column is."""

    def __init__(
        self, encoding: dict[str, Any] | None = None, features: tuple[tuple[str, str], ...] = (), seed: int = 0
    ) -> None:
        self.encoding = encoding
        self.features = features
        self.seed = seed

    def fit(self, frame: pd.DataFrame, y: np.ndarray) -> Self:
        """Learn from training rows."""
        self.fit_parts(frame, y)
        return self

    def fit_transform(self, frame: pd.DataFrame, y: np.ndarray, **_: Any) -> Any:
        """Learn from training rows and give their matrix; cross-fitted where an encoding reads the target."""
        return self.joined(self.fit_parts(frame, y))

    def fit_parts(self, frame: Any, y: np.ndarray) -> list[Any]:
        """Learn from training rows and give their matrix in parts, one for the columns of each kind.

        Of rows whose columns are read when they are asked for, numbers that are treated column by column are not kept.
        """
        encoding = Encoding.model_validate(self.encoding or {})
        self._check_names(encoding)
        kept = self._kept(frame, encoding)
        if encoding.select is not None:
            kept = self._ranked(frame, y, kept, encoding)
        self.blocks_: list[Block] = [
            (kind, names, transformer)
            for kind, names, transformer in blocks(encoding, kept, self.seed)
            if names and _learns_something(transformer, frame, names)
        ]
        if not self.blocks_:
            raise DataError(
                f"no column is left after drop_missing_above: {encoding.drop_missing_above} and select; "
                "raise drop_missing_above or name columns in columns.numeric or columns.categorical"
            )
        parts = [self._fitted_part(frame, y, *block) for block in self.blocks_]
        self.outputs_ = [asdict(output) for output in self._outputs(parts)]
        return parts

    def _fitted_part(self, frame: Any, y: np.ndarray, kind: str, names: list[str], transformer: Any) -> Any:
        if _is_as_read(frame, kind, transformer):
            of = partial(cells, frame, kind)
            if (found := fitted_as_read(transformer, of, names, len(frame))) is not None and _are_finite(
                found, of, names
            ):
                return found
        given = cells(frame, kind, names, transformer)
        return _finite(fitted_part(transformer, given, y), given, kind, names)

    def _part(self, frame: Any, kind: str, names: list[str], transformer: Any) -> Any:
        if _is_as_read(frame, kind, transformer):
            found = AsRead((len(frame), len(names)), steps_of(transformer))
            if _are_finite(found, partial(cells, frame, kind), names):
                return found
        given = cells(frame, kind, names, transformer)
        return _finite(part(transformer, given), given, kind, names)

    def transform(self, frame: pd.DataFrame) -> Any:
        """The matrix of any rows; of none, one without rows."""
        if not len(frame):
            is_sparse = any(kind == "text" for kind, _, _ in self.blocks_)
            return (sparse.csr_matrix if is_sparse else np.zeros)((0, len(self.outputs_)))
        return self.joined(self.parts(frame))

    def parts(self, frame: Any) -> list[Any]:
        """The matrix of some rows in parts."""
        return [self._part(frame, *block) for block in self.blocks_]

    def joined(self, parts: list[Any]) -> Any:
        """Parts as one matrix, dense or sparse."""
        return _joined(dense(parts), Encoding.model_validate(self.encoding or {}).unit_length)

    def is_packable(self, parts: list[Any], n_rows: int) -> bool:
        """Whether the matrix of so many rows, of which these are parts, is kept packed; one of unit length is not."""
        return is_packable(parts, n_rows) and not Encoding.model_validate(self.encoding or {}).unit_length

    def matrix(self, parts: list[Any]) -> Any:
        """Parts as one matrix, packed where there are many rows."""
        is_many = self.is_packable(parts, parts[0].n_rows if isinstance(parts[0], Dummies) else parts[0].shape[0])
        return packed(parts) if is_many else self.joined(parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the matrix columns."""
        return np.array([output["name"] for output in self.outputs_], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "blocks_")

    def __getstate__(self) -> dict[str, Any]:
        """The description of the columns as one text: skops writes a page for each value of a list."""
        state = super().__getstate__()
        return {**state, "outputs_": json.dumps(state["outputs_"])} if "outputs_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        outputs = state.get("outputs_")
        super().__setstate__({**state, "outputs_": json.loads(outputs)} if isinstance(outputs, str) else state)

    def _check_names(self, encoding: Encoding) -> None:
        known = [name for name, kind in self.features if kind == "numeric"]
        at = encoding.numeric.at if isinstance(encoding.numeric.at, dict) else {}
        for key, names in (("weights", encoding.numeric.weights), ("at", at)):
            if strange := [name for name in names if name not in known]:
                raise DataError(
                    f"encodings: numeric.{key} names '{strange[0]}', which is no numeric column."
                    f"{nearest(strange[0], known)} Take it out, or name one of {listed(known)}."
                )

    def _kept(self, frame: pd.DataFrame, encoding: Encoding) -> list[Feature]:
        features = [Feature(name, kind) for name, kind in self.features]  # type: ignore[arg-type]
        if encoding.drop_missing_above >= 1:
            return features
        return [each for each in features if frame[each.name].isna().mean() <= encoding.drop_missing_above]

    def _ranked(self, frame: pd.DataFrame, y: np.ndarray, kept: list[Feature], encoding: Encoding) -> list[Feature]:
        assert encoding.select is not None
        rankable = [feature for feature in kept if feature.kind != "text"]
        if not rankable:
            return kept
        numbers = [
            cells(frame, "numeric", [feature.name])
            if feature.kind == "numeric"
            else TopValues(top=None).fit_transform(cells(frame, "categorical", [feature.name]))
            for feature in rankable
        ]
        select = encoding.select
        ranking = ForestRanking(top=select.top, by=select.by, n_estimators=select.trees, random_state=self.seed)
        support = ranking.fit(np.hstack(numbers), y).get_support()
        self.importances_ = {
            by: dict(zip([feature.name for feature in rankable], values.tolist(), strict=True))
            for by, values in ranking.importances_.items()
        }
        chosen = {feature.name for feature, is_chosen in zip(rankable, support, strict=True) if is_chosen}
        return [feature for feature in kept if feature.kind == "text" or feature.name in chosen]

    def _gives(self) -> str:
        return step_entry("as", Encoding.model_validate(self.encoding or {}).as_).gives

    def _outputs(self, parts: list[Any]) -> list[Output]:
        found: list[Output] = []
        for (kind, names, transformer), made in zip(self.blocks_, parts, strict=True):
            described = _described(kind, names, transformer, width_of(made), len(found), self._gives())
            found += described
        return found


def new_encoder(table: Table, encoding: Encoding, seed: int) -> TableEncoder:
    """The unfitted encoder of a table."""
    features = tuple((feature.name, feature.kind) for feature in table.features)
    return TableEncoder(encoding.model_dump(by_alias=True), features, seed)


def without_outliers(frame: pd.DataFrame, y: np.ndarray, table: Table, study: Study) -> np.ndarray:
    """Which of some training rows are no outliers by numeric columns, learned on these rows alone."""
    cleaning = study.cleaning
    names = [feature.name for feature in table.features if feature.kind == "numeric"]
    if not names:
        raise DataError(
            f"cleaning.outliers: {cleaning.outliers} looks at numeric columns, but no column is numeric. Take it out, "
            "or name columns in columns.numeric."
        )
    rows = OutlierRows(cleaning.outliers, cleaning.beyond, study.seed)
    is_kept = rows.fit_predict(cells(frame, "numeric", names)) > 0
    lost = [name for name, side in sides_of(y, table).items() if side.any() and not side[is_kept].any()]
    if lost or not is_kept.any():
        what = f"no training row of {', '.join(lost)}" if lost else "no training row"
        raise DataError(
            f"cleaning.outliers: {cleaning.outliers} leaves {what}: {int(np.sum(~is_kept)):,} of {len(y):,} are "
            "outliers. Raise cleaning.beyond, or take outliers out."
        )
    return is_kept


def blocks(encoding: Encoding, features: list[Feature], seed: int) -> list[Block]:
    """The columns of each kind with the unfitted transformer that they go through."""
    numeric = [feature.name for feature in features if feature.kind == "numeric"]
    categorical = [feature.name for feature in features if feature.kind == "categorical"]
    made: list[Block] = []
    if encoding.numeric.bins is None:
        made.append(("numeric", numeric, _numbers(encoding, numeric, seed)))
        if encoding.numeric.indicator:
            made.append(("indicator", numeric, MissingIndicator(error_on_new=False)))
    else:
        binner = new_step("bins", encoding.numeric.bins, StepRequest(encoding, numeric, seed))
        made.append(("numeric_codes", numeric, coded(binner, encoding, numeric, seed)))
    grouper = new_step("group", encoding.categorical.group, StepRequest(encoding, categorical, seed))
    made.append(("categorical", categorical, coded(grouper, encoding, categorical, seed)))
    text = [feature.name for feature in features if feature.kind == "text"]
    made += [
        ("text", [name], new_step("words", encoding.text.words, StepRequest(encoding, [name], seed))) for name in text
    ]
    return made


def cells(frame: Any, kind: str, names: list[str], transformer: Any = None) -> Any:
    """The cells of some columns in the form that the transformers of this kind take."""
    if isinstance(frame, SomeRows) and kind != "text":
        return _cells_by_columns(frame, kind, names, transformer)
    if kind in {"numeric", "indicator", "numeric_codes"}:
        return frame[names].to_numpy(dtype=np.float64)
    if kind == "text":
        return frame[names[0]].fillna("").astype(str).tolist()
    values = np.empty((len(frame), len(names)), dtype=object)
    for j, name in enumerate(names):
        values[:, j] = _objects(frame[name])
    return values


def _cells_by_columns(frame: SomeRows, kind: str, names: list[str], transformer: Any) -> Any:
    """The same, read one column after another; of text that is only counted, the different values and their places."""
    first = type(transformer.steps[0][1]) if isinstance(transformer, Pipeline) else None
    is_coded = first is TopValues
    if kind == "categorical" and is_coded:
        found = [pd.factorize(frame[name]) for name in names]
        known = [np.array([*values, None], dtype=object)[:-1] for _, values in found]
        return CodedColumns(
            known, [codes.astype(np.min_scalar_type(-len(v) - 1)) for (codes, _), v in zip(found, known, strict=True)]
        )
    if kind == "numeric_codes" and first is CutPoints:
        return ReadColumns((len(frame), len(names)), lambda j: frame[names[j]].to_numpy(dtype=np.float64))
    values = np.empty((len(frame), len(names)), object if kind == "categorical" else np.float64, "F")
    for j, name in enumerate(names):
        values[:, j] = _objects(frame[name]) if kind == "categorical" else frame[name].to_numpy(dtype=np.float64)
    return values


def _is_as_read(frame: Any, kind: str, transformer: Any) -> bool:
    """Whether the numbers of the table stand for what a transformer makes of them, column by column."""
    return isinstance(frame, SomeRows) and kind == "numeric" and is_alone(transformer)


def _are_finite(part: AsRead, of: Any, names: list[str]) -> bool:
    """Whether numbers after their steps can be squared and summed; what is missing may stay so."""
    for j, name in enumerate(names):
        given = of([name])
        is_known = ~np.isnan(given)
        made = after_steps(given, part.steps, slice(j, j + 1))
        if not (np.abs(made[is_known]) <= LARGEST).all():  # of NaN too, which is made of numbers with squares too large
            return False
    return True


def _objects(column: pd.Series) -> np.ndarray:
    """The values of a column, None where one is missing; of text, one object for all equal values."""
    if isinstance(column.dtype, pd.StringDtype):
        codes, known = pd.factorize(column)
        distinct: np.ndarray = np.array([*known, None], dtype=object)
        return distinct[np.asarray(codes, dtype=np.intp)]
    values: np.ndarray = column.to_numpy(dtype=object, copy=True)
    values[pd.isna(values)] = None
    return values


def _numbers(encoding: Encoding, names: list[str], seed: int) -> Pipeline:
    numeric, steps = encoding.numeric, list[Any]()
    if numeric.impute != "none":
        steps.append(SimpleImputer(strategy=numeric.impute, keep_empty_features=True))
    if numeric.scale != "none":
        steps.append(new_step("scale", numeric.scale, StepRequest(encoding, names, seed)))
    if numeric.weights:
        steps.append(ColumnWeights([numeric.weights.get(name, 1.0) for name in names]))
    if numeric.splines:
        steps.append(SplineColumns(numeric.splines))
    if numeric.polynomial > 1:
        steps.append(PolynomialFeatures(numeric.polynomial, include_bias=False))
    return make_pipeline(*steps) if steps else make_pipeline("passthrough")


def _learns_something(transformer: Any, frame: pd.DataFrame, names: list[str]) -> bool:
    """A missing indicator needs a column with a missing value."""
    return not isinstance(transformer, MissingIndicator) or any(frame[name].isna().any() for name in names)


def _finite(part: Any, given: Any, kind: str, names: list[str]) -> Any:
    """The encoded part, refused where values were too large to be squared and summed; what is missing may stay so."""
    values = part.data if sparse.issparse(part) else part
    if kind != "numeric" or (np.isfinite(values).all() and np.max(np.abs(values), initial=0.0) <= LARGEST):
        return part
    largest = np.nanmax(np.abs(np.asarray(given, dtype=np.float64)), axis=0)
    huge = [name for name, value in zip(names, largest, strict=True) if value > LARGEST]
    if not huge:
        return part
    raise DataError(
        f"{listed(huge)} holds numbers as large as {float(np.nanmax(largest)):.4g}, which cannot be scaled: use "
        "numeric.bins or scale: rank_normal, leave those rows out with cleaning.rows, or put it into columns.ignore"
    )


def _joined(parts: list[Any], has_unit_length: bool) -> Any:
    if any(sparse.issparse(part) for part in parts):
        X = sparse.hstack([sparse.csr_array(part) for part in parts], format="csr")
    else:
        X = np.ascontiguousarray(np.hstack([np.asarray(part, dtype=np.float64) for part in parts]))
    return Normalizer().transform(X) if has_unit_length else X


def _described(kind: str, names: list[str], transformer: Any, width: int, first_block: int, gives: str) -> list[Output]:
    if kind == "text":
        return [Output(f"{names[0]}:{word}", names[0], "word") for word in transformer.get_feature_names_out()]
    if kind == "indicator":
        return [Output(f"{names[j]} is missing", names[j], "numeric") for j in transformer.features_]
    if kind == "numeric":
        made = _bent_names(transformer, names, width)
        return [Output(name, source, "numeric") for name, source in made]
    if gives in {"evidence", "numbers"}:
        return _alike(names, width, "evidence" if gives == "evidence" else "numeric")
    coder = transformer.steps[0][1]
    if gives == "codes":
        return [Output(name, name, "code", n_codes=int(n)) for name, n in zip(names, coder.n_codes_, strict=True)]
    found = transformer.steps[1][1].categories_
    return [
        Output(f"{name} = {code_label(coder, j, int(code))}", name, "dummy", block=first_block + j)
        for j, name in enumerate(names)
        for code in found[j]
    ]


def _alike(names: list[str], width: int, kind: Any) -> list[Output]:
    """Columns of a step that makes as many of each; of evidence there is one for each class, or one."""
    each, rest = divmod(width, len(names))
    if rest:
        raise DataError(
            f"encodings: as makes {width} columns of {len(names)}, so it is not known which come from which. Let the "
            "class make as many of each, or give the step an entry that makes dummies."
        )
    words = "for class" if kind == "evidence" else "part"
    return [Output(name if each == 1 else f"{name} {words} {k}", name, kind) for name in names for k in range(each)]


def _bent_names(transformer: Pipeline, names: list[str], width: int) -> list[tuple[str, str]]:
    """The name of each column made of numbers, and the one that it comes from."""
    last = transformer.steps[-1][1]
    if isinstance(last, SplineColumns):
        made = last.get_feature_names_out(names)
        return [(str(name), names[source]) for name, source in zip(made, last.sources_, strict=True)]
    if isinstance(last, PolynomialFeatures):
        made = last.get_feature_names_out(names)
        return [(str(name), names[int(np.argmax(powers))]) for name, powers in zip(made, last.powers_, strict=True)]
    if width != len(names):
        raise DataError(f"encodings: numeric.scale makes {width} columns of {len(names)}. Let it make one of each.")
    return [(name, name) for name in names]


def code_label(coder: Any, column: int, code: int) -> str:
    """What a code of a coder stands for, in words."""
    if code == coder.n_codes_[column] - 1:
        return "missing"
    if hasattr(coder, "cuts_"):
        cuts = coder.cuts_[column]
        low = f"{cuts[code - 1]:.6g}" if code > 0 else "-inf"
        high = f"{cuts[code]:.6g}" if code < len(cuts) else "inf"
        return f"[{low}, {high})"
    if hasattr(coder, "values_"):
        values = coder.values_[column]
        return str(values[code]) if code < len(values) else "other"
    return f"group {code}"
