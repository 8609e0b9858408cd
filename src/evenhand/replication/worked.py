"""The examples that the documents work out by hand, each with every intermediate probability."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from evenhand.replication.fitted import Fitted
from evenhand.replication.lines import Line, as_fraction, cut_off, equal, exact, explained, rounds_to

Models = Mapping[str, Fitted]
CUT_OFF = "the printed figure is cut off there instead of rounded"


@dataclass(frozen=True)
class Slip:
    """A step that a document rounds before it goes on: what that multiplies the figure by, and in words."""

    factor: float
    words: str


def tax_evasion(facts: Mapping[str, Any], models: Models) -> Iterator[Line]:
    """Priors, moments, densities, the queries with and without smoothing, and the other estimates."""
    study, plain, laplace = "tax_evasion", models["unsmoothed"], models["laplace"]
    for label, printed in facts["class_prior"].items():
        yield exact(study, f"P({label})", printed, plain.model.class_prior_[plain.place(label)])
    for label in facts["income_mean"]:
        yield exact(
            study, f"mean income of {label}", facts["income_mean"][label], plain.model.theta_[plain.place(label), 0]
        )
        yield exact(
            study,
            f"variance of income of {label}",
            facts["income_variance"][label],
            plain.model.var_[plain.place(label), 0],
        )
    for each in facts["income_density"]:
        density = plain.share("TaxableIncome", each["income"], each["class"])
        yield from _both_readings(study, f"p(income = {each['income']} | {each['class']})", each["printed"], density)
    first, density = facts["income_density"][0], plain.share("TaxableIncome", 120, "No")
    slip = Slip(float(first["printed"]) / density, f"the slide goes on with the density rounded to {first['printed']}")
    for query in facts["unsmoothed_queries"]:
        yield from _query(study, "unsmoothed", query, plain, slip)
    for each in facts["laplace_shares"]:
        share = laplace.share(each["column"], each["value"], each["class"])
        yield _fraction(
            study, f"smoothed P({each['column']} = {each['value']} | {each['class']})", each["printed"], share
        )
    yield from _query(study, "smoothed", facts["laplace_query"], laplace)
    yield _swapped_priors(study, facts["laplace_query"], laplace)
    yield from _other_estimates(study, models)


def mammals(facts: Mapping[str, Any], models: Models) -> Iterator[Line]:
    """The query's likelihoods, joint probabilities and class."""
    query = {"row": facts["query"], "given": facts["given"], "joint": facts["joint"], "predicted": facts["predicted"]}
    yield from _query("mammals", "unsmoothed", query, models["unsmoothed"])


def news_titles(facts: Mapping[str, Any], models: Models) -> Iterator[Line]:
    """The query as printed, with a vocabulary that leaves its unseen word out, and as right, with the word in it."""
    study, fitted = "news_titles", models["multinomial_nb"]
    words, vocabulary = facts["query"].lower().split(), fitted.encoder.get_feature_names_out()
    known = [name.partition(":")[2] for name in vocabulary]
    as_printed = word_scores(fitted, known, words, len(known))
    as_right = word_scores(fitted, known, words, len({*known, *words}))
    slip = f"the vocabulary has {len(known)} words, and 'likes' is smoothed without being one of them"
    for label, printed in facts["as_printed"].items():
        figure = f"P({label}) P(title | {label})"
        cut = cut_off(as_printed[label], printed)
        yield equal(study, f"{figure}, as printed", printed, cut, f"{slip}; not rounded: {as_printed[label]:.5g}")
        note = "with 'likes' the vocabulary has 15 words"
        yield explained(exact(study, f"{figure}, as right", printed, as_right[label], note))
    yield equal(study, "class, as printed", facts["predicted"], max(as_printed, key=as_printed.__getitem__))
    yield equal(study, "class, as right", facts["predicted"], max(as_right, key=as_right.__getitem__))
    yield equal(
        study,
        "class by the pipeline",
        facts["predicted"],
        fitted.predicted({"title": facts["query"]}),
        "the pipeline leaves a word never seen in training out of the product",
    )


def sentiment_words(facts: Mapping[str, Any], models: Models) -> Iterator[Line]:
    """Shares of words among days by class."""
    for each in facts["shares"]:
        share = models["counted"].share(each["word"], "yes", each["class"])
        yield exact("sentiment_words", f"P({each['word']} | {each['class']})", each["printed"], share)


def multinomial_sessions(facts: Mapping[str, Any]) -> Iterator[Line]:
    """The multinomial coefficient and a probability, against counting all orders of the sessions."""
    from scipy.stats import multinomial

    study, counts = "multinomial_sessions", np.array(facts["counts"])
    thetas = np.arange(1, counts.size + 1) / np.arange(1, counts.size + 1).sum()
    orders = [
        order for order in product(range(counts.size), repeat=3) if (np.bincount(order, minlength=8) == counts).all()
    ]
    yield exact(study, "3! / (2! 1!)", facts["coefficient"], len(orders), f"counted among the {counts.size**3} orders")
    by_formula = 3 * thetas[0] ** 2 * thetas[4]
    probability = float(multinomial.pmf(counts, counts.sum(), thetas))
    yield exact(
        study,
        "3 theta1^2 theta5 at theta_i = i / 36",
        f"{by_formula:.10f}",
        probability,
        "multinomial probability of SciPy",
    )


def word_scores(fitted: Fitted, known: list[str], words: list[str], n_vocabulary: int) -> dict[str, float]:
    """P(class) times the smoothed share of each word, from the counts the model learned."""
    counts, scores = fitted.model.feature_count_, {}
    for k, label in enumerate(fitted.classes):
        column = dict(zip(known, counts[k], strict=True))
        shares = [(column.get(word, 0) + 1) / (counts[k].sum() + n_vocabulary) for word in words]
        scores[str(label)] = float(np.exp(fitted.model.class_log_prior_[k]) * np.prod(shares))
    return scores


def _query(study: str, how: str, query: Mapping[str, Any], fitted: Fitted, slip: Slip | None = None) -> Iterator[Line]:
    row = query["row"]
    words = f"{how}, {', '.join(map(str, row.values()))}"
    found = {"given": fitted.given(row), "joint": fitted.joint(row)}
    forms = {"given": "P(row | {})", "joint": "P({}) P(row | {})"}
    for key, form in forms.items():
        for label, printed in query.get(key, {}).items():
            yield from _both_readings(study, f"{words}: {form.format(label, label)}", printed, found[key][label], slip)
    yield equal(study, f"{words}: class", query["predicted"], fitted.predicted(row))


def _both_readings(study: str, figure: str, printed: str, value: float, slip: Slip | None = None) -> Iterator[Line]:
    """One line where the value rounds to what is printed; where a slip explains it, one as printed and one as right."""
    if rounds_to(value, printed):
        yield exact(study, figure, printed, value)
    elif cut_off(value, printed) == printed:
        yield equal(study, f"{figure}, as printed", printed, cut_off(value, printed), f"as printed: {CUT_OFF}")
        yield explained(exact(study, f"{figure}, as right", printed, value, f"as right: rounded; {CUT_OFF}"))
    elif slip is not None and rounds_to(value * slip.factor, printed):
        yield exact(study, f"{figure}, as printed", printed, value * slip.factor, f"as printed: {slip.words}")
        yield explained(exact(study, f"{figure}, as right", printed, value, f"as right: without that; {slip.words}"))
    else:
        yield exact(study, figure, printed, value)


def _fraction(study: str, figure: str, printed: str, share: float) -> Line:
    return equal(study, figure, printed, as_fraction(share, int(printed.partition("/")[2])))


def _swapped_priors(study: str, query: Mapping[str, Any], fitted: Fitted) -> Line:
    """What the slide that swaps the priors comes to: the other class."""
    given = fitted.given(query["row"])
    swapped = {label: given[label] * (1 - fitted.model.class_prior_[fitted.place(label)]) for label in given}
    winner = max(swapped, key=swapped.__getitem__)
    joints = ", ".join(f"{label} {value:.2g}" for label, value in swapped.items())
    note = (
        f"one slide swaps P(No) and P(Yes), which makes the joints {joints}; the lines above have the priors as right"
    )
    figure = "smoothed class with the priors swapped, as on one slide"
    return explained(equal(study, figure, query["predicted"], winner, note))


def _other_estimates(study: str, models: Models) -> Iterator[Line]:
    """The estimates by number of classes and by m, of Refund and MaritalStatus given No, by their formulas."""
    counts = {("Refund", "Yes"): 3, ("MaritalStatus", "Single"): 2, ("MaritalStatus", "Married"): 4}
    for (column, value), count in counts.items():
        by_classes = models["laplace_by_classes"].share(column, value, "No")
        yield _fraction(
            study, f"(N_ic + 1) / (N_c + classes), {column} = {value} | No", f"{count + 1}/{7 + 2}", by_classes
        )
    for value, count in (("Single", 2), ("Married", 4)):
        by_m = models["m_estimate"].share("MaritalStatus", value, "No")
        yield _fraction(
            study, f"(N_ic + m p) / (N_c + m) with m = 3, p = 1/3, {value} | No", f"{count + 1}/{7 + 3}", by_m
        )
