"""From a balance in conf to a change of training rows, checked so that the message is ours."""

from typing import Any, NamedTuple

import numpy as np
from imblearn.over_sampling import RandomOverSampler
from imblearn.under_sampling import EditedNearestNeighbours, NearMiss, RandomUnderSampler, TomekLinks
from scipy import sparse

from evenhand.errors import DataError
from evenhand.models.sampler_lineage import (
    Adasyn,
    BorderlineSmote,
    Smote,
    SmoteEnn,
    Smoten,
    Smotenc,
    SmoteTomek,
    SvmSmote,
    parents_of,
    unexplained,
)
from evenhand.records.pipeline import Output
from evenhand.study.study import Balance

SVM_SMOTE_STEP = 0.5  # its rows lie up to half a step beyond a safe support vector
SYNTHETIC = frozenset(
    {"smote", "smotenc", "smoten", "borderline_smote", "svm_smote", "adasyn", "smote_tomek", "smote_enn"}
)


class Resampled(NamedTuple):
    """Balanced rows, their classes, and the places of the given rows that each was made of, filled up with -1."""

    X: Any
    y: np.ndarray
    parents: np.ndarray | None


class Resampler:
    """Draws, makes or removes training rows; `kind` may change to the variant that suits the columns."""

    def __init__(self, name: str, balance: Balance, outputs: tuple[Output, ...], seed: int) -> None:
        self.name = name
        self.balance = balance
        self.outputs = outputs
        self.seed = seed
        self.kind = suited_kind(balance.kind or name, outputs)
        self.is_discrete = np.array([output.kind in {"code", "dummy"} for output in outputs])

    def resample(self, X: Any, y: np.ndarray, classes: tuple[Any, ...]) -> Resampled:
        """Balanced rows, their classes and their parents."""
        counts = np.bincount(y, minlength=len(classes))
        self._check(counts, classes)
        if self.kind not in {"smotenc", "smoten"}:
            sampler = self._sampler(counts)
            return self._resampled(sampler, X, y)
        if sparse.issparse(X):
            raise DataError(
                f"{self.kind} cannot read text columns: use undersample, oversample or smote for this encoding"
            )
        self._check_dummies(X)
        collapsed, columns = self._collapse(X)
        sampler = self._sampler(counts, is_code=np.array([is_code for is_code, _ in columns]))
        found = self._resampled(sampler, collapsed, y)
        return found._replace(X=self._expand(found.X, columns, X))

    def unexplained(self, X: Any, found: Resampled) -> np.ndarray:
        """Which balanced rows cannot have been made of the parents they name."""
        assert found.parents is not None
        voted = {"smotenc": self.is_discrete, "smoten": np.ones_like(self.is_discrete)}
        is_voted = voted.get(self.kind, np.zeros_like(self.is_discrete))
        before = SVM_SMOTE_STEP if self.kind == "svm_smote" else 0.0
        return unexplained(X, found.X, found.parents, is_voted, before)

    def _resampled(self, sampler: Any, X: Any, y: np.ndarray) -> Resampled:
        try:
            made, labels = sampler.fit_resample(X, y)
            return Resampled(made, labels, parents_of(sampler))
        except ValueError as error:
            text = " ".join(str(error).split())
            raise DataError(
                f"{self.kind} cannot be done on these training rows: {text}. Use another balance."
            ) from error

    def _check(self, counts: np.ndarray, classes: tuple[Any, ...]) -> None:
        label = (
            "n_neighbors" if self.kind in {"adasyn", "near_miss"} else "k_neighbors" if self.kind in SYNTHETIC else ""
        )
        if not label:
            return
        rarest, neighbours = int(np.argmin(counts)), getattr(self.balance, label)
        needed = neighbours if self.kind == "near_miss" else neighbours + 1
        if counts[rarest] < needed:
            raise DataError(
                f"{self.kind} with {label}={neighbours} needs at least {needed} training rows of every class, "
                f"but class '{classes[rarest]}' has {int(counts[rarest])}. "
                f"Lower balance.{self.name}.{label} or use undersample."
            )

    def _check_dummies(self, X: np.ndarray) -> None:
        """A made row gets the one value that stands for 1, so there must be one."""
        dummies = X[:, [output.kind == "dummy" for output in self.outputs]]
        if dummies.size and np.ptp(dummies[dummies != 0]) > 0:
            raise DataError(
                f"{self.kind} cannot read rows scaled by unit_length: use undersample, oversample or smote for this "
                "encoding"
            )

    def _strategy(self, counts: np.ndarray) -> Any:
        """The rows wanted of each class, in the form imbalanced-learn takes."""
        if self.balance.rows_per_class is not None:
            wanted = self.balance.rows_per_class
            if self.kind == "undersample":
                return {k: min(wanted, int(n)) for k, n in enumerate(counts)}
            return {k: max(wanted, int(n)) for k, n in enumerate(counts)}
        if self.balance.ratio is None or self.kind == "tomek":
            return "auto"
        if self.kind in {"undersample", "near_miss"}:
            most = int(counts.min() / self.balance.ratio)
            return {k: min(int(n), most) for k, n in enumerate(counts)}
        least = int(counts.max() * self.balance.ratio)
        return {k: max(int(n), least) for k, n in enumerate(counts)}

    def _sampler(self, counts: np.ndarray, is_code: np.ndarray | None = None) -> Any:
        how, k = {"sampling_strategy": self._strategy(counts)}, self.balance.k_neighbors
        seeded = {**how, "random_state": self.seed}
        smote = {**seeded, "k_neighbors": k}
        made = {
            "undersample": lambda: RandomUnderSampler(**seeded),
            "oversample": lambda: RandomOverSampler(**seeded),
            "smote": lambda: Smote(**smote),
            "smotenc": lambda: Smotenc(np.flatnonzero(np.asarray(is_code)).tolist(), **smote),
            "smoten": lambda: Smoten(**smote),
            "borderline_smote": lambda: BorderlineSmote(m_neighbors=self.balance.m_neighbors, **smote),
            "svm_smote": lambda: SvmSmote(m_neighbors=self.balance.m_neighbors, out_step=SVM_SMOTE_STEP, **smote),
            "adasyn": lambda: Adasyn(n_neighbors=self.balance.n_neighbors, **seeded),
            "near_miss": lambda: NearMiss(version=self.balance.version, n_neighbors=self.balance.n_neighbors, **how),
            "tomek": lambda: TomekLinks(**how),
            "smote_tomek": lambda: SmoteTomek(smote=Smote(**smote), **seeded),
            "smote_enn": lambda: SmoteEnn(
                smote=Smote(**smote),
                enn=EditedNearestNeighbours(sampling_strategy="all", n_neighbors=self.balance.n_neighbors),
                **seeded,
            ),
        }
        return made[self.kind]()

    def _collapse(self, X: np.ndarray) -> tuple[np.ndarray, list[tuple[bool, list[int]]]]:
        """One column of codes for each block of dummies, so that a made row has one value of each category."""
        columns: list[tuple[bool, list[int]]] = []
        places: dict[int, int] = {}
        for j, output in enumerate(self.outputs):
            if output.kind == "dummy" and output.block in places:
                columns[places[output.block]][1].append(j)
                continue
            if output.kind == "dummy":
                places[output.block] = len(columns)
            columns.append((bool(self.is_discrete[j]), [j]))
        parts = [X[:, js[0]] if self.outputs[js[0]].kind != "dummy" else X[:, js].argmax(axis=1) for _, js in columns]
        return np.column_stack(parts).astype(np.float64), columns

    def _expand(self, made: np.ndarray, columns: list[tuple[bool, list[int]]], X: np.ndarray) -> np.ndarray:
        expanded = np.zeros((len(made), X.shape[1]))
        for place, (_, js) in enumerate(columns):
            if self.outputs[js[0]].kind == "dummy":
                expanded[np.arange(len(made)), np.asarray(js)[made[:, place].astype(int)]] = X[:, js].max()
            else:
                expanded[:, js[0]] = made[:, place]
        return expanded


def suited_kind(kind: str, outputs: tuple[Output, ...]) -> str:
    """smotenc and smoten stand for each other and for smote, by whether all, some or no columns are categories."""
    if kind not in {"smotenc", "smoten"}:
        return kind
    discrete = [output.kind in {"code", "dummy"} for output in outputs]
    return "smoten" if all(discrete) else "smotenc" if any(discrete) else "smote"
