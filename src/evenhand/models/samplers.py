"""From a balance in conf to a change of training rows, checked so that the message is ours."""

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from evenhand.errors import ConfError, DataError
from evenhand.models.encoder_steps import step_entry
from evenhand.models.entries.samplers import SamplerEntry, SamplerRequest
from evenhand.models.packing.made_rows import MadeRows, MakerInParts, coded_mask, is_apart, two_valued_numbers
from evenhand.models.sampler_lineage import ends_of, parents_of, two_valued, unexplained, whole_values
from evenhand.models.stored_names import class_code, function_code, function_text
from evenhand.records.pipeline import Feature, Output, Plan
from evenhand.storage.packed import Packed
from evenhand.study.registry import SAMPLERS, named_object
from evenhand.study.study import Balance, Encoding, Study
from evenhand.study.validation import Mistake

VOTED = ("smotenc", "smoten")  # where neighbours vote for categories


class Resampled(NamedTuple):
    """Balanced rows, their classes, and the places of the given rows that each was made of, filled up with -1."""

    X: Any
    y: np.ndarray
    parents: np.ndarray | None


class Resampler:
    """Draws, makes or removes training rows; `kind` is the variant of what is `asked` that suits the columns."""

    def __init__(self, name: str, balance: Balance, outputs: tuple[Output, ...], seed: int) -> None:
        self.name = name
        self.balance = balance
        self.outputs = outputs
        self.seed = seed
        self.asked = balance.kind or name
        self._suit(np.array([output.kind in {"code", "dummy"} for output in outputs]))

    def _suit(self, is_discrete: np.ndarray) -> None:
        self.is_discrete = is_discrete
        self.kind = suited_kind(self.asked, is_discrete)
        self.entry = suited_entry(self.asked, is_discrete)

    def _for(self, X: Any) -> Self:
        """The same for these rows: where categories are voted for, columns with two values count as categories."""
        found = copy(self)
        if self.asked in VOTED and not sparse.issparse(X):
            found._suit(self.is_discrete | two_valued(X))
        return found

    @property
    def is_blind(self) -> bool:
        """Whether rows are chosen by their classes alone."""
        return self.entry.is_blind and not self.balance.params

    def n_rows(self, counts: np.ndarray) -> int:
        """About how many rows come out of so many of each class; what cleans rows besides leaves fewer."""
        wanted = self._strategy(counts)
        if isinstance(wanted, dict) or self.entry.gives == "as it comes":
            return sum(wanted.values()) if isinstance(wanted, dict) else int(counts.sum())
        return len(counts) * int(counts.min() if self.entry.gives == "fewer" else counts.max())

    def resample(self, X: Any, y: np.ndarray, classes: tuple[Any, ...]) -> Resampled:
        """Balanced rows, their classes and their parents."""
        return self._for(X)._resample(X, y, classes)

    def in_parts(self, X: Any) -> MakerInParts | None:
        """What makes the rows of a matrix in parts that this would make of all of it; None where there is none."""
        if not isinstance(X, Packed) or self.balance.params or not is_apart(X, self.is_discrete):
            return None
        if not suited_entry(self.asked, self.is_discrete).in_parts:
            return None
        votes, (is_two_valued, is_whole) = self.asked in VOTED, two_valued_numbers(X, self.is_discrete)
        is_settled = self.is_discrete | is_two_valued
        if not suited_entry(self.asked, is_settled).in_parts or (self.is_discrete.any() and not votes):
            return None
        whole = tuple(each.name for each, keeps in zip(self.outputs, is_whole, strict=True) if keeps)
        return MakerInParts(X, self.balance.k_neighbors, self.seed, votes, coded_mask(X, is_settled), whole)

    def resample_parts(self, maker: MakerInParts, y: np.ndarray, classes: tuple[Any, ...]) -> MadeRows:
        """The same as resample, for a matrix in parts."""
        counts = np.bincount(y, minlength=len(classes))
        self._check(counts, classes)
        try:
            return maker.made(y, self._strategy(counts))
        except ValueError as error:
            raise self._impossible(error) from error

    def whole_columns(self, X: Any) -> list[str]:
        """The columns beside categories and words in which rows made of these keep one of two values."""
        if not (self.entry.blends or self.asked in VOTED):
            return []
        low, high = ends_of(X)
        is_whole = two_valued(X) & (low < high) & ~self.is_discrete
        return [each.name for each, keeps in zip(self.outputs, is_whole, strict=True) if keeps and each.kind != "word"]

    def _resample(self, X: Any, y: np.ndarray, classes: tuple[Any, ...]) -> Resampled:
        counts = np.bincount(y, minlength=len(classes))
        self._check(counts, classes)
        if self.entry.kinds == "any":
            sampler = self._sampler(counts)
            return self._resampled(sampler, X, y)
        if sparse.issparse(X):
            raise DataError(f"{self.kind} cannot read text columns: use undersample or oversample for this encoding")
        self._check_dummies(X)
        collapsed, columns = self._collapse(X)
        sampler = self._sampler(counts, is_code=np.array([is_code for is_code, _ in columns]))
        found = self._resampled(sampler, collapsed, y)
        return found._replace(X=self._expand(found.X, columns, X))

    def unexplained(self, X: Any, found: Resampled) -> np.ndarray:
        """Which balanced rows cannot have been made of the parents they name."""
        assert found.parents is not None
        suited = self._for(X)
        if suited.entry.kinds == "any":
            is_voted = two_valued(X) if suited.entry.blends else np.zeros_like(self.is_discrete)
        else:
            is_voted = suited.is_discrete | (suited.entry.kinds == "categories")
        return unexplained(X, found.X, found.parents, is_voted, suited.entry.before)

    def _resampled(self, sampler: Any, X: Any, y: np.ndarray) -> Resampled:
        try:
            made, labels = sampler.fit_resample(X, y)
            made = whole_values(X, made) if self.entry.blends else made
            return Resampled(made, labels, self._parents(sampler))
        except ValueError as error:
            raise self._impossible(error) from error

    def _impossible(self, error: ValueError) -> DataError:
        text = " ".join(str(error).split())
        return DataError(f"{self.kind} cannot be done on these training rows: {text}. Use another balance.")

    def _parents(self, sampler: Any) -> np.ndarray | None:
        """The rows that each row was made of, where the entry says that the sampler names them."""
        if self.entry.lineage == "none":
            return None
        if (found := parents_of(sampler)) is None:
            name = {"parents": "parents_", "indices": "sample_indices_"}[self.entry.lineage]
            raise ConfError(
                f"balance '{self.name}': the entry of {self.kind} promises {name}, but {self.entry.home} has none "
                "after fit_resample, so its rows cannot be traced. Let it set them, or give the entry lineage none."
            )
        return found

    def _check(self, counts: np.ndarray, classes: tuple[Any, ...]) -> None:
        option = self.entry.neighbours
        if not option:
            return
        rarest, neighbours = int(np.argmin(counts)), getattr(self.balance, option)
        needed = neighbours + self.entry.needs_more
        if counts[rarest] < needed:
            raise DataError(
                f"{self.kind} with {option}={neighbours} needs at least {needed} training rows of every class, "
                f"but class '{classes[rarest]}' has {int(counts[rarest])}. "
                f"Lower balance.{self.name}.{option} or use undersample."
            )

    def _check_dummies(self, X: np.ndarray) -> None:
        """A made row gets the one value that stands for 1, so there must be one."""
        dummies = X[:, [output.kind == "dummy" for output in self.outputs]]
        if dummies.size and np.ptp(dummies[dummies != 0]) > 0:
            raise DataError(
                f"{self.kind} cannot read rows scaled by unit_length: use undersample or oversample for this encoding"
            )

    def _strategy(self, counts: np.ndarray) -> Any:
        """The rows wanted of each class, in the form imbalanced-learn takes."""
        if self.balance.rows_per_class is not None:
            wanted = self.balance.rows_per_class
            if self.entry.gives == "fewer":
                return {k: min(wanted, int(n)) for k, n in enumerate(counts)}
            return {k: max(wanted, int(n)) for k, n in enumerate(counts)}
        if self.balance.ratio is None:
            return "auto"
        if self.entry.gives == "fewer":
            most = int(counts.min() / self.balance.ratio)
            return {k: min(int(n), most) for k, n in enumerate(counts)}
        least = int(counts.max() * self.balance.ratio)
        return {k: max(int(n), least) for k, n in enumerate(counts)}

    def _sampler(self, counts: np.ndarray, is_code: np.ndarray | None = None) -> Any:
        assert self.entry.home is not None
        assert self.entry.arguments is not None
        arguments = self.entry.arguments(SamplerRequest(self.balance, self._strategy(counts), self.seed, is_code))
        return sampler_class(self.entry)(**{**arguments, **self.balance.params})

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


def category_columns(encoding: Encoding, features: tuple[Feature, ...]) -> list[str]:
    """The columns that an encoding makes into dummies or codes."""
    if step_entry("as", encoding.as_).gives not in {"dummies", "codes"}:
        return []
    kinds = {"categorical", "numeric"} if encoding.numeric.bins else {"categorical"}
    return [feature.name for feature in features if feature.kind in kinds]


def fraction_mistakes(study: Study, plans: list[Plan], features: tuple[Feature, ...]) -> list[Mistake]:
    """Balances that would make fractions of categories, with the encoding they are asked for."""
    has_text, found = any(feature.kind == "text" for feature in features), list[Mistake]()
    for encoding, balance in dict.fromkeys((made.encoding, made.balance) for made in plans):
        kind = study.balance_kind(balance)
        columns = category_columns(study.encodings[encoding], features) if SAMPLERS[kind].blends else []
        if columns:
            found.append((("balance", balance), f"with encoding '{encoding}', {_fractions(kind, columns, has_text)}"))
    return found


def _fractions(kind: str, columns: list[str], has_text: bool) -> str:
    """Why rows cannot be made between others, and what can be written in its place."""
    more = f" and {len(columns) - 3} more" if len(columns) > 3 else ""
    way = "oversample or undersample" if has_text else "smotenc, which takes a whole category of the neighbours,"
    return (
        f"{kind} makes rows between others, and {', '.join(map(repr, columns[:3]))}{more} "
        f"{'is a category' if len(columns) == 1 else 'are categories'}: a made row would be fractions of several. "
        f"Write {way} in its place, or give the candidates with this balance an encoding with as: evidence"
    )


def sampler_class(entry: SamplerEntry) -> type:
    """The class behind an entry, if it is a sampler."""
    found = named_object(str(entry.home), f"balance '{entry.name}'")
    if not (isinstance(found, type) and callable(getattr(found, "fit_resample", None))):
        raise ConfError(
            f"balance '{entry.name}' should be a class with fit_resample; {entry.home} is none. Correct its entry."
        )
    return found


def sampler_code(kind: str) -> list[str]:
    """Where the code of one sampler is, as keys of the store name it: its class, and what its arguments are made by."""
    found = list[str]()
    for entry in _entries(kind):
        if entry.home is not None and entry.arguments is not None:
            found += [class_code(sampler_class(entry)), *function_code(entry.arguments)]
    return list(dict.fromkeys(found))


def sampler_arguments(kind: str) -> list[str]:
    """How the arguments of one sampler are made, for a key."""
    made = (entry.arguments for entry in _entries(kind))
    return [text for each in made if each is not None for text in function_text(each)]


def _entries(kind: str) -> list[SamplerEntry]:
    """The sampler of a kind; where categories are voted for, all variants, as the rows decide which it is."""
    return [SAMPLERS[each] for each in (("smote", *VOTED) if kind in VOTED else (kind,))]


def suited_entry(kind: str, is_discrete: np.ndarray) -> SamplerEntry:
    """The entry of the variant that suits the columns."""
    return SAMPLERS[suited_kind(kind, is_discrete)]


def suited_kind(kind: str, is_discrete: np.ndarray) -> str:
    """smotenc and smoten stand for each other and for smote, by whether all, some or no columns are categories."""
    if kind not in VOTED:
        return kind
    return "smoten" if all(is_discrete) else "smotenc" if any(is_discrete) else "smote"
