"""One line of the replication table, and how its verdict is reached."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

Verdict = Literal["matches", "inside", "ordered", "explained", "differs"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LEVEL = 0.99


@dataclass(frozen=True)
class Line:
    """A published figure beside the one measured; `published` is None where the document gives none."""

    study: str
    figure: str
    kind: str
    published: Any
    measured: Any
    verdict: Verdict
    interval: tuple[float, float] | tuple[tuple[float, float], ...] | None = None
    note: str = ""
    beyond: str = ""

    def as_json(self, with_beyond: bool = False) -> dict[str, Any]:
        """The line as the JSON file holds it."""
        order = ("study", "figure", "kind", "published", "measured", "interval", "verdict", "note")
        fields = asdict(self)
        return {name: fields[name] for name in (*order, "beyond")[: 9 if with_beyond else 8]}


def exact(study: str, figure: str, printed: str, value: float, note: str = "") -> Line:
    """A figure that has to round to the digits that are printed."""
    shown = shortest(value)
    return Line(
        study, figure, "exact", printed, shown, "matches" if rounds_to(value, printed) else "differs", note=note
    )


def equal(study: str, figure: str, published: Any, measured: Any, note: str = "") -> Line:
    """A label, table or fraction that has to be the same."""
    return Line(
        study, figure, "exact", published, measured, "matches" if published == measured else "differs", note=note
    )


def spread(study: str, figure: str, printed: str, values: Sequence[float], note: str = "") -> Line:
    """A figure of one unknown random split beside the median and the central 99 % of many."""
    low, middle, high = np.quantile(np.asarray(values, dtype=float), [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]).tolist()
    half = Decimal(printed).scaleb(0).as_tuple().exponent
    slack = 0.5 * 10.0 ** int(half)
    is_inside = low - slack <= float(printed) <= high + slack
    return Line(study, figure, "split", float(printed), middle, inside(is_inside), (low, high), note)


def ordered(study: str, figure: str, kind: str, claim: str, gaps: ArrayLike, note: str = "") -> Line:
    """A claim that one is greater than another, from paired gaps over independent repeats or folds."""
    each = np.asarray(gaps, dtype=float)
    mean, reach = float(each.mean()), t_reach(each)
    holds = mean > 0
    if mean - reach < 0 < mean + reach:
        note = "; ".join(part for part in (note, "the interval holds 0, so chance alone could give it") if part)
    return Line(study, figure, kind, claim, mean, order(holds), (mean - reach, mean + reach), note)


def order(holds: bool) -> Verdict:
    """ordered where it holds, else differs."""
    return "ordered" if holds else "differs"


def inside(holds: bool) -> Verdict:
    """inside where it holds, else differs."""
    return "inside" if holds else "differs"


def explained(line: Line) -> Line:
    """The line as one whose difference has a reason that was tested, and that its note names."""
    return replace(line, verdict="explained") if line.verdict == "differs" else line


def t_reach(values: np.ndarray, level: float = LEVEL) -> float:
    """Half the width of the t interval of a mean; 0 for a single value."""
    from scipy.stats import t

    if values.size < 2:
        return 0.0
    return float(t.ppf(0.5 + level / 2, values.size - 1) * values.std(ddof=1) / math.sqrt(values.size))


def rounds_to(value: float, printed: str) -> bool:
    """Whether a value, rounded to as many decimals as are printed, gives just these digits."""
    digits = Decimal(printed)
    return tidy(value).quantize(digits, ROUND_HALF_UP) == digits


def cut_off(value: float, printed: str) -> str:
    """A value with as many decimals as are printed, the rest dropped instead of rounded."""
    return str(tidy(value).quantize(Decimal(printed), ROUND_DOWN))


def tidy(value: float) -> Decimal:
    """A float without the noise of its last bits, so that halves round as on paper."""
    return Decimal(f"{value:.12g}")


def shortest(value: float) -> float:
    """A figure with five significant digits."""
    return float(f"{value:.5g}")


def as_fraction(value: float, denominator: int) -> str:
    """A share as a fraction of the printed denominator, or in lowest terms where it has another."""
    above = value * denominator
    return (
        f"{round(above)}/{denominator}"
        if abs(above - round(above)) < 1e-9
        else str(Fraction(value).limit_denominator(999))
    )


def counted(lines: Sequence[Line]) -> dict[str, int]:
    """How many lines have each verdict."""
    return {verdict: sum(line.verdict == verdict for line in lines) for verdict in VERDICTS}
