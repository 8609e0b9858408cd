"""The section of the page on resampling: what each balance brought, and whether resampling was worth it."""

from collections.abc import Callable, Sequence
from typing import Any

from evenhand.records.decision import Gain, Pairing
from evenhand.reporting.html.content import PageContent, ResamplingRow
from evenhand.reporting.html.elements import (
    Heading,
    Html,
    count,
    counted,
    facts,
    joined,
    listing,
    number,
    p_value,
    seconds,
    section,
    spoken,
    tag,
    titled,
    with_minus,
)
from evenhand.reporting.html.templates import render

MOST_OPEN = 4
ROUNDING = 1e-12


def trials(content: PageContent) -> Html | None:
    """What each way of balancing brought, and of each resampled candidate whether that helped."""
    if not content.trials:
        return None

    def value(one: ResamplingRow) -> str:
        return "refused" if one.refused else f"{number(one.cv_mean)} ± {number(one.cv_std)}"

    columns = [
        (Heading("Balance", "text"), lambda one: one.balance),
        (Heading("Model", "text"), lambda one: one.model),
        (Heading("Encoding", "text", minor=True), lambda one: one.encoding),
        (Heading(titled(content.study.metric)), value),
        (Heading("Against none"), lambda one: signed(one.gain)),
        (Heading("Training rows", minor=True), lambda one: _filled(one.n_rows, count(one.n_rows))),
        (Heading("Made up", minor=True), lambda one: _filled(one.n_rows, count(one.n_made))),
        (Heading("Took", minor=True), lambda one: _filled(one.seconds, seconds(one.seconds))),
    ]
    refused = [(f"{one.balance}, {one.model}", one.refused) for one in content.trials if one.refused]
    why = facts(refused, "long") if refused else None
    lead = "Training rows of each fold were balanced; the rows judged on never were."
    shown = listing(content.trials, columns, "Balances tried")
    body = render("resampling", table=shown, refused=why, **_verdicts(content.trials))
    return section("resampling", "Resampling trial", body, lead=lead)


def _filled(value: float | None, words: str) -> str:
    return "" if value is None else words


def _verdicts(trials: Sequence[ResamplingRow]) -> dict[str, Any]:
    """Whether resampling helped, in words for the template."""
    judged = [one for one in trials if one.words]
    pairs = [(one, pairing) for one in judged for pairing in one.pairings]
    words = facts([(f"{one.balance}, {one.model}, {one.encoding}", with_minus(one.words)) for one in judged], "long")
    return {
        "n_judged": len(judged),
        "n_helped": sum(one.verdict == "helped" for one in judged),
        "n_harmed": sum(one.verdict == "harmed" for one in judged),
        "judged": counted(len(judged), "resampled candidate", "resampled candidates"),
        "most_open": MOST_OPEN,
        "each": joined(words, _gains(pairs)),
    }


def _gains(pairs: Sequence[tuple[ResamplingRow, Pairing]]) -> Html:
    """Paired differences by metric; above zero resampling is better."""
    metrics = list(dict.fromkeys(gain.metric for _, pairing in pairs for gain in pairing.gains))
    columns = [
        (Heading("Resampled", "text"), lambda pair: f"{pair[0].balance}, {pair[0].model}, {pair[0].encoding}"),
        (Heading("Set against", "text"), lambda pair: pair[1].against),
        *((Heading(titled(metric), "text whole"), _taken(metric)) for metric in metrics),
        (Heading("Note", "text whole"), lambda pair: pair[1].words),
    ]
    lead = (
        f"Differences on the same out-of-fold rows in {', '.join(map(spoken, metrics))}; above zero resampling is "
        "better, also where less is better. Limits and p-values hold for all differences together."
    )
    return joined(tag("p", lead), listing(pairs, columns, "What resampling gained")) if metrics else joined()


def _taken(metric: str) -> Callable[[tuple[ResamplingRow, Pairing]], str]:
    def taken(pair: tuple[ResamplingRow, Pairing]) -> str:
        gain = next((one for one in pair[1].gains if one.metric == metric), None)
        return "" if gain is None else _cells(gain)

    return taken


def _cells(gain: Gain) -> str:
    value, low, high = (0.0 if abs(each) < ROUNDING else each for each in (gain.value, gain.low, gain.high))
    words = {"same": "practically the same", "unseparated": f"not separated, detectable {number(gain.detectable)}"}
    verdict = words.get(gain.verdict, gain.verdict)
    return f"{signed(value)} ({number(low)} to {number(high)}; p {p_value(gain.p_value)}): {verdict}"


def signed(value: float | None) -> str:
    """A number with its sign, also where it is above zero."""
    return number(value) if value is None or value <= 0 else f"+{number(value)}"
