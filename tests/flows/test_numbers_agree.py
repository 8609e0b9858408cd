"""The same number on the page, in MLflow, in Prefect, on the terminal and in JSON, and as predictions come to it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from makers import make_regression, make_study, two_clouds, write_rows
from mlflow import MlflowClient
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from sklearn import metrics

from evenhand.records.decision import rows_text
from evenhand.records.pipeline import FINAL
from evenhand.reporting.html.elements import number, titled
from evenhand.reporting.terminal.run import show_judgement
from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded import run_reader

TWO = {"split": {"folds": 2, "holdout_share": 0.3}}
MEANS = ("macro", "weighted")
ERRORS = ("r2", "mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "median_absolute_error")
WORDS = {"sport": "goal match team", "weather": "rain wind cloud"}


def two_classes():
    write_rows("rows.csv", *two_clouds(90, 60))
    return make_study(**TWO, metric="roc_auc", candidates={"gaussian_nb": {}, "logistic": {}}), ranked("roc_auc_score")


def rare():
    write_rows("rows.csv", *two_clouds(300, 24))
    study = make_study(
        **TWO, metric="average_precision", balance=["none", "class_weight"],
        candidates={"linear_svm": {}, "logistic": {}},
        decide={"cost": {"1": {"0": 9}, "0": {"1": 1}}},
    )  # fmt: skip
    return study, ranked("average_precision_score")


def three_classes():
    columns, y = two_clouds(90, 60)
    write_rows("rows.csv", columns, np.where(columns["noise"] > 0.3, 2, y))
    return make_study(**TWO, metric="f1_macro", candidates={"gaussian_nb": {}, "knn": {}}), called(metrics.f1_score)


def regression():
    columns, y = two_clouds(90, 60)
    write_rows("rows.csv", columns, y * 3.0 + columns["noise"] ** 2)
    study = make_regression(**TWO, metric="r2", candidates={"ridge": {}, "knn_regressor": {}})
    return study, lambda rows: metrics.r2_score(rows.truth, rows.predicted)


def text():
    random = np.random.default_rng(0)
    kinds = random.choice(list(WORDS), size=160)
    said = [" ".join(random.choice(" ".join([WORDS[kind], WORDS["sport"]]).split(), size=5)) for kind in kinds]
    write_rows("rows.csv", {"said": said}, kinds)
    study = make_study(
        **TWO, metric="matthews_corrcoef", positive="weather", columns={"text": "said"},
        encodings={"words": {"text": {"words": "counts"}}}, candidates={"multinomial_nb": {}, "logistic": {}},
    )  # fmt: skip
    return study, lambda rows: metrics.matthews_corrcoef(rows.truth, rows.predicted)


def of_classes(rows, minority):
    """What classes that were called come to, by scikit-learn."""
    truth, called = rows.truth, rows.predicted
    return {
        "accuracy": metrics.accuracy_score(truth, called),
        "balanced_accuracy": metrics.balanced_accuracy_score(truth, called),
        "matthews_corrcoef": metrics.matthews_corrcoef(truth, called),
        "minority_accuracy": metrics.recall_score(truth, called, labels=[minority], average="macro"),
    }


def of_two(rows, minority):
    scores = rows.score
    truth, called = (
        part if part.dtype.kind in "iu" else part.eq("weather").astype(int) for part in (rows.truth, rows.predicted)
    )
    return of_classes(rows, minority) | {
        "precision": metrics.precision_score(truth, called),
        "recall": metrics.recall_score(truth, called),
        "f1": metrics.f1_score(truth, called),
        "roc_auc": metrics.roc_auc_score(truth, scores),
        "average_precision": metrics.average_precision_score(truth, scores),
        **of_probabilities(truth, scores),
    }


def of_probabilities(truth, scores):
    if scores.min() < 0 or scores.max() > 1:
        return {}  # decision values
    return {
        "log_loss": metrics.log_loss(truth, scores),
        "brier_score_loss": metrics.brier_score_loss(truth, scores),
    }


def of_three(rows, minority):
    truth, called = rows.truth, rows.predicted
    scores = rows[["score:0", "score:1", "score:2"]].to_numpy()
    each = {"precision": metrics.precision_score, "recall": metrics.recall_score, "f1": metrics.f1_score}
    means = {f"{name}_{how}": score(truth, called, average=how) for name, score in each.items() for how in MEANS}
    ovr = {how: metrics.roc_auc_score(truth, scores, multi_class="ovr", average=how) for how in MEANS}
    return (
        of_classes(rows, minority)
        | means
        | {
            "roc_auc_ovr": ovr["macro"],
            "roc_auc_ovr_weighted": ovr["weighted"],
            "average_precision_macro": metrics.average_precision_score(np.eye(3)[truth], scores, average="macro"),
            "log_loss": metrics.log_loss(truth, scores),
        }
    )


def of_numbers(rows, _):
    truth, predicted = rows.truth, rows.predicted
    return {name: getattr(metrics, name if "_" in name else "r2_score")(truth, predicted) for name in ERRORS}


def ranked(name):
    return lambda rows: getattr(metrics, name)(rows.truth == 1, rows.score)


def called(score):
    return lambda rows: score(rows.truth, rows.predicted, average="macro")


class Cells(HTMLParser):
    """The text of every cell of the leaderboard, row by row."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.inside = [], False
        self.feed(page[page.index('id="leaderboard"') :].partition("</section>")[0])

    def handle_starttag(self, name, _):
        if name == "tr":
            self.rows.append([])
        if name in {"td", "th"} and self.rows:
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, name):
        self.inside = self.inside and name not in {"td", "th"}

    def handle_data(self, words):
        if self.inside:
            self.rows[-1][-1] += words


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [two_classes, rare, three_classes, regression, text])
def test_every_place_shows_the_number_that_predictions_come_to(kind, mlruns, prefect_server, monkeypatch, capsys):
    from evenhand.flows.retrain import retrain

    study, recomputed = kind()
    state = retrain(study, return_state=True)
    report = state.result()

    figures = {}
    for each in report.judgement.figures:
        rows = predictions(report, each.plan.name)
        folds = [recomputed(part) for fold, part in rows.groupby("fold") if fold.startswith("fold")]
        figures[each.plan.name] = (np.mean(folds), np.std(folds, ddof=1), recomputed(rows[rows.fold == FINAL]))
    assert len(figures) >= 2

    monkeypatch.setenv("COLUMNS", "160")
    shown = places(report, state.state_details.flow_run_id, capsys)
    metric = study.metric
    for name, (mean, std, holdout) in figures.items():
        assert shown["json"][name] == pytest.approx((mean, std, holdout), abs=1e-9)
        assert shown["mlflow"][name] == pytest.approx((mean, std, holdout), abs=1e-9)
        row = shown["prefect"][name]
        assert (row[f"{metric}, folds"], row["±"], row["held out"]) == pytest.approx((mean, std, holdout), abs=6e-5)
        assert [f"{value:.4f}" for value in (mean, std)] == shown["terminal"][name][:2]
        assert f"{holdout:.4f}" in shown["terminal"][name]
        assert f"{number(mean)} ± {number(std)}" in shown["page"][name]
        assert number(holdout) in [cell.split()[0] for cell in shown["page"][name] if cell]
        assert f"{mean:.4f} ± {std:.4f} | {holdout:.4f}" in shown["note"][name]
    best = next(iter(figures))
    assert report.judgement.best.plan.name == best
    assert f"{figures[report.judgement.winner.plan.name][0]:.4f}" in shown["run_name"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "recomputed"),
    [(two_classes, of_two), (rare, of_two), (three_classes, of_three), (regression, of_numbers), (text, of_two)],
)
def test_every_other_metric_is_what_predictions_come_to_wherever_it_is_shown(kind, recomputed, mlruns, prefect_server):
    from evenhand.flows.retrain import retrain

    report = retrain(kind()[0])

    client = MlflowClient(mlflow_client.tracking_uri())
    page = every_metric(report.page.read_text(encoding="utf-8"))
    in_json = {each["name"]: each for each in report.as_json()["candidates"]}
    for each in report.judgement.figures:
        rows, shown = predictions(report, each.plan.name), in_json[each.plan.name]
        kept = client.get_run(report.run_ids[each.plan.name]).data.metrics
        minority = rows[rows.fold != FINAL].truth.value_counts().idxmin()
        folds = pd.DataFrame([recomputed(part, minority) for fold, part in rows.groupby("fold") if fold != FINAL])
        held = recomputed(rows[rows.fold == FINAL], minority)
        assert set(folds) == set(shown["cv"]) == set(shown["holdout"])
        for metric, mean in folds.mean().items():
            found = (mean, folds[metric].std(), held[metric])
            in_mlflow = tuple(kept[key] for key in (f"cv_{metric}", f"cv_{metric}_std", f"holdout_{metric}"))
            given = shown["cv"][metric]
            assert (given["mean"], given["std"], shown["holdout"][metric]) == pytest.approx(found, abs=1e-9), metric
            assert in_mlflow == pytest.approx(found, abs=1e-9), metric
            head = "Mean" if metric == report.judgement.metric else titled(metric)
            assert page[each.plan.name][head] == number(mean), metric
        for place, value in enumerate(folds[report.judgement.metric], 1):
            assert page[each.plan.name][f"Fold {place}"] == number(value)


def every_metric(page):
    """The cells of each candidate below 'Every fold and the other metrics', by their headings."""
    below = page[page.index("<summary>Every fold") :].partition("</details>")[0]
    found: dict[str, dict[str, str]] = {}
    for name, cells in re.findall(r'<tr role="row"><th scope="row"[^>]*>(.*?)</th>(.*?)</tr>', below):
        values = dict(re.findall(r'data-head="([^"]+)">([^<]*)<', cells))
        found.setdefault(re.sub("<[^>]+>", "", name), {}).update(values)
    return found


def test_the_confusion_of_the_page_counts_the_predictions(mlruns, prefect_server):
    from evenhand.flows.retrain import retrain

    study, _ = three_classes()
    report = retrain(study)
    rows = predictions(report, report.judgement.winner.plan.name)

    page = report.page.read_text(encoding="utf-8")

    part = rows[rows.fold.str.startswith("fold")]
    expected = metrics.confusion_matrix(part.truth, part.predicted, labels=[0, 1, 2]).ravel().tolist()
    section = page[page.index('id="confusion"') :].partition("</table>")[0]
    assert [int(n) for n in re.findall(r'class="cell t\d"><b>(\d+)</b>', section)] == expected


def predictions(report, name):
    """The predictions of a candidate as MLflow keeps them."""
    place = mlflow_client.open_store()
    return pd.read_parquet(run_reader.artifact(place, report.run_ids[name], "predictions.parquet"))


def places(report, flow_run_id, capsys):
    """What each place says of each candidate."""
    metric, client = report.judgement.metric, MlflowClient(mlflow_client.tracking_uri())
    runs = {name: client.get_run(run_id) for name, run_id in report.run_ids.items()}
    capsys.readouterr()
    show_judgement(report.study, report.judgement)
    printed = capsys.readouterr().out.splitlines()
    cells = Cells(report.page.read_text(encoding="utf-8")).rows
    parent = client.get_run(report.run_id)
    note = parent.data.tags["mlflow.note.content"].replace("\\_", "_").splitlines()

    def first(lines, name):
        return next(line for line in lines if any(name in part for part in [line, *line]))

    return {
        "json": {
            each["name"]: (each["cv"][metric]["mean"], each["cv"][metric]["std"], each["holdout"][metric])
            for each in json.loads(json.dumps(report.as_json(), default=str))["candidates"]
        },
        "mlflow": {
            name: tuple(run.data.metrics[key] for key in (f"cv_{metric}", f"cv_{metric}_std", f"holdout_{metric}"))
            for name, run in runs.items()
        },
        "prefect": {row["candidate"]: row for row in leaderboard_in_prefect(flow_run_id)},
        "terminal": {name: re.findall(r"-?\d+\.\d{4}\b", first(printed, name)) for name in runs},
        "page": {name: [cell.strip() for cell in first(cells, name)] for name in runs},
        "note": {name: first([line for line in note if line.startswith("|")], name) for name in runs},
        "run_name": parent.info.run_name,
        "printed": "\n".join(printed),
        "described": "\n".join(note),
        "counted": (report.as_json()["decided"] or {}).get("own_out_of_fold", {}).get("counts"),
    }


def leaderboard_in_prefect(flow_run_id):
    chosen = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[flow_run_id]))
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=chosen)
    return json.loads(next(each.data for each in found if each.type == "table"))


def test_the_decision_counts_each_row_once_wherever_it_is_shown(mlruns, prefect_server, monkeypatch, capsys):
    from evenhand.flows.retrain import retrain

    study, _ = rare()
    study = study.model_copy(update={"split": study.split.model_copy(update={"repeats": 2})})
    state = retrain(study, return_state=True)
    report = state.result()
    rows = predictions(report, report.judgement.winner.plan.name)

    part = rows[rows.fold != FINAL]
    (left, wrong), (missed, found) = (metrics.confusion_matrix(part.truth, part.predicted, labels=[0, 1]) / 2).tolist()

    decided = report.judgement.decided
    assert [list(each) for each in decided.own_out_of_fold.counts] == [[left, wrong], [missed, found]]
    assert decided.own_out_of_fold.n_rows == report.n_training
    words = decided.by_class(decided.own_out_of_fold)
    assert words == (
        f"{rows_text(found)} of {rows_text(found + missed)} class 1 found, "
        f"{rows_text(wrong)} of {rows_text(left + wrong)} class 0 called class 1"
    )
    assert words in report.page.read_text(encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "200")
    shown = places(report, state.state_details.flow_run_id, capsys)
    on_holdout = decided.by_class(decided.own)
    assert on_holdout in " ".join(shown["printed"].split())
    assert on_holdout in shown["described"]
    assert [list(each) for each in shown["counted"]] == [[left, wrong], [missed, found]]
