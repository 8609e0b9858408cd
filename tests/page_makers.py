"""Page contents made of real models on data that scikit-learn brings along."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, f1_score, r2_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from evenhand.estimators.ols import OrdinaryLeastSquares
from evenhand.evaluation import curves
from evenhand.evaluation.explanation.residual_columns import residuals_by_column
from evenhand.records.decision import Effect, Explained, Stage
from evenhand.records.insight import (
    ColumnCurve,
    Insight,
    LearningPoint,
    Lift,
    PairStrength,
    Parity,
    RawCoefficient,
    Reason,
    ReasonedRow,
    Slice,
    WordWeight,
)
from evenhand.records.regression import Coefficient, RegressionTable
from evenhand.records.since import ColumnShape, Difference, SinceRun
from evenhand.reporting.html.content import (
    CandidateCurves,
    CandidateRow,
    ColumnFacts,
    ComparisonRow,
    ConfusionTable,
    GateVerdict,
    LeakCheck,
    ModelCard,
    PageContent,
    Regression,
    ResamplingRow,
    StudyFacts,
    Thresholds,
    ValidationCurve,
)
from evenhand.statistics import normal_quantiles

MODELS = {
    "logistic": LogisticRegression(max_iter=500),
    "knn": KNeighborsClassifier(15),
    "gaussian_nb": GaussianNB(),
    "dummy": DummyClassifier(),
}
PROTOCOL = (
    "A quarter of the rows was held out before anything else was done.",
    "Candidates were compared on five folds of the training rows; encoders and models saw training rows only.",
    "The held-out rows were scored once, after the comparison.",
)

VERDICTS = ["best", "not separated", "worse"]


def facts(name, target, task, metric, n_training, n_holdout, **more):
    """The facts of a study with every field that a page shows."""
    return StudyFacts(
        name=name,
        target=target,
        task=task,
        metric=metric,
        lower_is_better=False,
        n_training=n_training,
        n_holdout=n_holdout,
        split_id="5f0c2a9e61b7",
        data_digest="9b1d44e07c3a52f8",
        when="18 November 2026, 12:00 UTC",
        protocol=PROTOCOL,
        versions=(("evenhand", "0.1.0"), ("scikit-learn", "1.9.1"), ("numpy", "2.4.6")),
        seconds=83.0,
        n_executed=34,
        n_reused=6,
        **more,
    )


@cache
def binary():
    """A rare class, four models, all sections."""
    X, y = rare_tumours()
    trained, held, y_trained, y_held = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    scored = {name: out_of_fold(model, trained, y_trained) for name, model in MODELS.items()}
    order = sorted(scored, key=lambda name: -np.mean(fold_figures(scored[name])))
    sizes = {"n_training": len(y_trained), "n_holdout": len(y_held)}
    classes = (("benign", int((y == 0).sum())), ("malignant", int((y == 1).sum())))
    about = "Which of the tumours are malignant, from measurements of cell nuclei."
    content = PageContent(
        title="Malignant tumours, retrained",
        study=facts("tumours", "diagnosis", "binary", "average_precision", **sizes, classes=classes, description=about),
        leaderboard=tuple(
            candidate(place, name, scored[name], (trained, y_trained), (held, y_held))
            for place, name in enumerate(order)
        ),
        curves=tuple(curves_of(name, scored[name], name == "knn") for name in order),
        calibration=tuple((name, curves.calibration(*joined(scored[name]))) for name in order[:2]),
        explained=effects(trained, y_trained, held, y_held),
        validation=(validation_curve(trained, y_trained),),
        shapes=tuple(
            ColumnShape(name, 312, 3, 0.1, 4.0, (0.2, 0.5, 0.6, 0.8, 1.0, 1.3, 1.5, 2.0, 3.0), (31,) * 10, (), "none")
            for name in names()
        ),
        since=(
            SinceRun(
                "tumours@1",
                "the run before",
                (Difference("Data", "1a2b", "3c4d"),),
                "not separated on the same held-out rows",
                0.01,
                -0.02,
                0.04,
                0.3,
            ),
        ),
        columns=tuple(
            ColumnFacts(name, "numeric", len(y), 23 * (place % 3 == 0)) for place, name in enumerate(names())
        ),
    )
    return replace(content, **at_threshold(order[0], scored[order[0]]), **told(order))


def at_threshold(name, folds):
    """What the cheapest threshold does where a miss costs ten false alarms."""
    truth, score = joined(folds)
    swept = curves.sweep(truth, score)
    chosen = swept.cheapest(1, 10)
    table = named(curves.confusion(truth, (score >= chosen).astype(int), [0, 1]), "benign", "malignant")
    why = "Chosen for the least cost on out-of-fold rows."
    return {
        "thresholds": Thresholds(name, swept, chosen, 1, 10, why),
        "confusion": ConfusionTable(name, table, chosen),
    }


def told(order):
    """The parts of a page that other stages of a run would tell."""
    return {
        "gate": GateVerdict(False, "The served model is as good on the same rows: difference 0.004, p = 0.41."),
        "comparisons": (
            ComparisonRow(order[1], -0.012, -0.041, 0.017, 0.41, "not separated (detectable: 0.03)", 0.35),
            ComparisonRow(order[2], -0.071, -0.118, -0.024, 0.008, "worse", 0.41),
        ),
        "failed": (("one_class_svm", "It needs a class to learn from; none was named."),),
        "trials": trials(),
        "leak_checks": leak_checks(),
        "stages": (Stage("prepare", 6.2, 5, 5, 310.0), Stage("fit", 61.0, 28, 1, 1210.0), Stage("judge", 9.1)),
        "card": ModelCard("A logistic regression on standardised columns.", "9b1d44e07c3a52f8", " ".join(PROTOCOL)),
        "notes": ("3 rows with the same values as others were left out.",),
    }


@cache
def multiclass():
    """Three wines, three models."""
    X, y = load_wine(return_X_y=True)
    found = {name: out_of_fold(MODELS[name], X, y) for name in ("logistic", "knn", "gaussian_nb")}
    figures = {name: [f1_score(t, p, average="macro") for t, p in folds] for name, folds in found.items()}
    order = sorted(found, key=lambda name: -np.mean(figures[name]))
    truth, called = joined(found[order[0]])
    table = named(curves.confusion(truth, called, [0, 1, 2]), "barolo", "grignolino", "barbera")
    return PageContent(
        title="Three wines",
        study=facts(
            "wine",
            "cultivar",
            "multiclass",
            "f1_macro",
            178,
            0,
            classes=(("barolo", 59), ("grignolino", 71), ("barbera", 48)),
        ),
        leaderboard=tuple(plain_row(place, name, figures[name]) for place, name in enumerate(order)),
        confusion=ConfusionTable(order[0], table, None, curves.per_class(table)),
        class_calibration=calibrated_wines(X, y),
    )


def calibrated_wines(X, y):
    """Each of the three wines against the rest, by naive Bayes on one column."""
    chances = GaussianNB().fit(X[::2, :1], y[::2]).predict_proba(X[1::2, :1])
    names = ("barolo", "grignolino", "barbera")
    return tuple((name, curves.calibration(y[1::2] == k, chances[:, k])) for k, name in enumerate(names))


@cache
def regression():
    """The progress of diabetes, three models."""
    X, y = load_diabetes(return_X_y=True)
    models = {"ridge": Ridge(0.1), "knn_regressor": KNeighborsRegressor(15), "svr": SVR(C=100)}
    found = {name: out_of_fold(model, X, y) for name, model in models.items()}
    figures = {name: [r2_score(t, p) for t, p in folds] for name, folds in found.items()}
    order = sorted(found, key=lambda name: -np.mean(figures[name]))
    actual, predicted = joined(found[order[0]])
    return PageContent(
        title="Progress of diabetes after one year",
        study=facts("diabetes", "progression", "regression", "r2", 442, 0),
        leaderboard=tuple(plain_row(place, name, figures[name]) for place, name in enumerate(order)),
        regression=Regression(
            order[0],
            curves.predicted_actual(actual, predicted),
            curves.residuals(actual, predicted),
            curves.deciles(actual, predicted),
            normal_quantiles(actual - predicted),
            tuple(residuals_by_column(actual - predicted, grouped(X, y), {"bmi": "numeric", "sex": "categorical"})),
        ),
        regressions=(linear_table(X, y),),
    )


def grouped(X, y):
    """One number and one category of the rows, as the folds judge them one after the other."""
    X = X[judged_in_order(X, y)]
    return pd.DataFrame({"bmi": X[:, 2], "sex": np.where(X[:, 1] > 0, "one", "other")})


def linear_table(X, y):
    """The table of a linear regression of ten columns, the last of them a sum of two others."""
    X = np.column_stack([X[:, :9], X[:, 0] + X[:, 1]])
    fitted = OrdinaryLeastSquares().fit(X, y)
    low, high = fitted.confidence_intervals()
    estimates = [fitted.intercept_, *fitted.coef_]
    rows = zip(estimates, fitted.standard_errors_, fitted.t_values_, fitted.p_values_, low, high, strict=True)
    names, inflation = ["intercept", *(f"x{j}" for j in range(10))], [None, *fitted.variance_inflation_]
    return RegressionTable(
        "linear_regression", len(y), fitted.degrees_of_freedom_, fitted.r2_, fitted.adjusted_r2_,
        fitted.residual_standard_error_, fitted.f_value_, fitted.n_columns_used_, float(fitted.f_p_value_), "none",
        tuple(
            Coefficient(name, *map(float, row), vif if vif is None or np.isfinite(vif) else None, vif == np.inf)
            for name, row, vif in zip(names, rows, inflation, strict=True)
        ),
    )  # fmt: skip


def many(n_candidates):
    """A large study: as many candidates as asked for, each with curves in full."""
    base = binary()
    rows = tuple(
        CandidateRow(
            place + 1,
            f"candidate_{place}",
            "svm",
            "evidence",
            "smote",
            0.9 - 0.001 * place,
            0.01,
            tuple(0.9 - 0.001 * place + 0.01 * np.sin(np.arange(10) + place)),
            0.89 - 0.001 * place,
            0.85,
            0.92,
            0.95,
            12.3,
            0.4,
            312.0,
            place % 2 == 0,
            place < 5,
            others=(("roc_auc", 0.97), ("f1", 0.7)),
        )
        for place in range(n_candidates)
    )
    random = np.random.default_rng(0)
    drawn = []
    for row in rows[:60]:
        truth = (random.random(20_000) < 0.02).astype(int)
        score = random.normal(size=20_000) + 2 * truth
        drawn.append(CandidateCurves(row.name, curves.roc(truth, score), curves.precision_recall(truth, score)))
    columns = tuple(ColumnFacts(f"column_{place}", "numeric", 50_000, place * 100) for place in range(300))
    changed = {"leaderboard": rows, "curves": tuple(drawn), "columns": columns}
    return PageContent(**{**vars(base), **changed})


def rare_tumours():
    """All benign tumours and forty of the malignant ones, five columns and some noise."""
    X, y = load_breast_cancer(return_X_y=True)
    kept = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:60]])
    noise = np.random.default_rng(0).normal(size=(len(kept), 6))
    X = X[kept][:, [1, 4, 8, 9, 11, 14]]
    return X + noise * X.std(axis=0) * 0.6, 1 - y[kept]


def named(table, *labels):
    return curves.Confusion(labels, table.counts)


def names():
    return (
        "mean texture",
        "mean smoothness",
        "mean symmetry",
        "mean fractal dimension",
        "texture error",
        "smoothness error",
    )


def out_of_fold(model, X, y):
    """(truth, score) of each of five folds; scores are shares, classes or values."""
    binned = y if len(np.unique(y)) < 10 else np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    folds = []
    for fitted, judged in StratifiedKFold(5, shuffle=True, random_state=1).split(X, binned):
        found = make_pipeline(StandardScaler(), model).fit(X[fitted], y[fitted])
        is_binary = len(np.unique(y)) == 2
        folds.append((y[judged], found.predict_proba(X[judged])[:, 1] if is_binary else found.predict(X[judged])))
    return folds


def judged_in_order(X, y):
    """The rows as the folds of numbers judge them."""
    binned = np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    return np.concatenate([judged for _, judged in StratifiedKFold(5, shuffle=True, random_state=1).split(X, binned)])


def joined(folds):
    return tuple(np.concatenate(part) for part in zip(*folds, strict=True))


def fold_figures(folds):
    return [average_precision_score(truth, score) for truth, score in folds]


def candidate(place, name, folds, training, held):
    figures = fold_figures(folds)
    fitted = make_pipeline(StandardScaler(), MODELS[name]).fit(*training)
    on = [average_precision_score(y, fitted.predict_proba(X)[:, 1]) for X, y in (held, training)]
    return CandidateRow(
        place + 1,
        name,
        name,
        "plain",
        "none" if place else "class_weight",
        float(np.mean(figures)),
        float(np.std(figures, ddof=1)),
        tuple(figures),
        on[0],
        max(0.0, on[0] - 0.11),
        min(1.0, on[0] + 0.09),
        on[1],
        0.04 * (place + 1),
        0.002,
        118.0 + 20 * place,
        place == 1,
        place < 2,
        {"knn": ("champion",), "dummy": ("baseline",)}.get(name, ()),
        others=(("roc_auc", 0.9),),
        verdict=VERDICTS[min(place, 2)],
    )


def plain_row(place, name, figures):
    mean, spread = float(np.mean(figures)), float(np.std(figures, ddof=1))
    return CandidateRow(place + 1, name, name, "plain", "none", mean, spread, tuple(figures), group=place == 0)


def curves_of(name, folds, is_champion):
    truth, score = joined(folds)
    bands = curves.mean_roc(folds), curves.mean_precision_recall(folds)
    return CandidateCurves(name, curves.roc(truth, score), curves.precision_recall(truth, score), *bands, is_champion)


def trials():
    figures = {"none": 0.0, "class_weight": 0.008, "smote": -0.011, "undersample": -0.034}
    made = {"smote": 222}
    shown = [
        ResamplingRow(balance, model, "plain", 0.70 + gain, 0.05, gain or None, 312, made.get(balance, 0), 0.3)
        for (balance, gain), model in product(figures.items(), ("logistic", "knn"))
    ]
    why = "needs at least 6 training rows of every class, but class 'malignant' has 3"
    return (*shown, ResamplingRow("svm_smote", "knn", "plain", refused=why))


def leak_checks():
    return (
        LeakCheck("Same rows on both sides", "ok", "No held-out row equals a training row."),
        LeakCheck("A column that tells the target", "warning", "'mean texture' alone reaches 0.93."),
        LeakCheck("Encoder fitted on held rows", "ok", "Refitted on training rows only: same values."),
        LeakCheck("Rows in time order", "skipped", "The study names no time column."),
    )


def effects(trained, y_trained, held, y_held):
    fitted = make_pipeline(StandardScaler(), MODELS["logistic"]).fit(trained, y_trained)
    found = permutation_importance(fitted, held, y_held, scoring="average_precision", n_repeats=10, random_state=0)
    each = [
        Effect(name, tuple(map(float, row)), float(row.mean() - 2 * row.std()), float(row.mean() + 2 * row.std()))
        for name, row in zip(names(), found.importances, strict=True)
    ]
    ranked = tuple(sorted(each, key=lambda one: -one.mean))
    left_out = ("a column of dates",)
    return Explained("average_precision", 0.99, len(held) - 7, len(held), ranked, left_out, insight=insight())


def insight():
    """Every part of an insight, of one number and one category."""
    at, ends = (10.0, 12.5, 20.0), (-0.2, 0.0, 0.3)
    low, high = tuple(end - 0.1 for end in ends), tuple(end + 0.1 for end in ends)
    of_town = ColumnCurve("town", "malignant", (-0.1, 0.2), (-0.2, 0.1), (0.0, 0.3), values=("north", "south"))
    reasons = (Reason("mean texture", "21.3", 0.4), Reason("mean symmetry", "0.2", -0.1))
    return Insight(
        unit="probability", reason_unit="log odds", is_exact=True, n_rows=25,
        curves=(ColumnCurve("mean texture", "malignant", ends, low, high, at=at), of_town),
        coefficients=(RawCoefficient("mean texture", "malignant", 0.12),),
        pairs=(PairStrength(("mean texture", "mean symmetry"), 0.04),),
        worst=(ReasonedRow(17, "malignant", "benign", 0.9, -1.0, reasons, 0.05),),
        words=(WordWeight("lump", "malignant", 0.7, 12),),
        slices=(Slice("town", "south", 40, 0.61, 0.5, 0.7, 0.2, 0.01, True),
                Slice("town", "north", 90, 0.81, 0.7, 0.9, -0.2, 1.0, False)),
        slices_on="130 out-of-fold rows", n_slices=2,
        parities=(Parity("group", "a", 60, (0.2, 0.1, 0.3), (0.8, 0.6, 0.9), (0.1, 0.05, 0.2)),
                  Parity("group", "b", 70, (0.4, 0.3, 0.5), None, (0.3, 0.2, 0.4))),
        lifts=(Lift(0.01, 3, 3, 0.1, 10.0, 500.0), Lift(0.1, 30, 27, 0.9, 9.0, None)),
        lifts_on="130 out-of-fold rows",
        learning=(LearningPoint(1 / 9, 30, 0.61, 0.09), LearningPoint(1 / 3, 91, 0.66, 0.05),
                  LearningPoint(1.0, 274, 0.72, 0.04)),
        learning_of="logistic",
    )  # fmt: skip


def validation_curve(X, y):
    values = (1, 3, 5, 9, 15, 25, 45)
    folds = [fold_figures(out_of_fold(KNeighborsClassifier(k), X, y)) for k in values]
    trained = []
    for k in values:
        fitted = make_pipeline(StandardScaler(), KNeighborsClassifier(k)).fit(X, y)
        trained.append(float(average_precision_score(y, fitted.predict_proba(X)[:, 1])))
    means, spreads = [float(np.mean(one)) for one in folds], [float(np.std(one, ddof=1)) for one in folds]
    return ValidationCurve("knn", "n_neighbors", tuple(map(str, values)), tuple(means), tuple(spreads), tuple(trained))
