"""Every stage is run with each file, variable and function of ours that it uses noted: what is not in its key fails."""

import ast
import json
import os
import site
import sys
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from makers import make_regression, make_study, two_clouds, work, write_rows

from evenhand.data import frames, sources
from evenhand.models import encoder_steps, model_code
from evenhand.models.packing import forms, kept, parts
from evenhand.storage.artifact_store import Store
from evenhand.storage.code_digest import NOT_NUMERIC, _bound, code_digest, code_of
from evenhand.storage.digests import file_digest
from evenhand.tasks import fitting, tuning
from evenhand.tasks.halving import attempting

HARMLESS_FILES = {
    "/proc": "memory and processors of this machine",
    "/sys": "memory and processors of this machine",
    "/dev": "devices",
    **{
        sysconfig.get_path(name): "packages, which count by their versions" for name in ("stdlib", "purelib", "platlib")
    },
    **dict.fromkeys(site.getsitepackages(), "packages, which count by their versions"),
}
HARMLESS_VARIABLES = {
    "EVENHAND_HOME": "where the store is",
    "EVENHAND_FAULT": "ends the process, for tests",
    "EVENHAND_STORE": "where the store is that machines share",
    "EVENHAND_CACHE": "how much of that store is copied here",
    "EVENHAND_DATA": "where files are looked for; their content is in the key",
    "HOME": "where packages keep their caches",
    "PYARROW_IGNORE_TIMEZONE": "is in the key, beside the versions",
    "TMPDIR": "where temporary files lie",
}
HARMLESS_PREFIXES = ("OMP_", "MKL_", "OPENBLAS_", "NUMBA_", "JOBLIB_", "LOKY_", "SKLEARN_", "SCIPY_", "PYTHON")
HARMLESS_CODE = {
    "evenhand.models.packing.forms:bytes_to_fit": "decides when a fit begins",
    "evenhand.models.packing.forms:check_room": "refuses a fit that there is no memory for, which is not kept",
    "evenhand.storage.code_digest:code_digest": "makes the key of an entry that is needed inside another",
    "evenhand.storage.code_digest:code_of": "is asked by this audit",
    "evenhand.study.study:Study.kind_of_task": "its value is in the key of the table",
    "evenhand.study.study:Study.is_multilabel": "the target is in the key of the table",
    "evenhand.study.study:Study.target_name": "the target is in the key of the table",
    "evenhand.study.study:Study.targets": "the target is in the key of the table",
    "evenhand.evaluation.metric_entries:MetricEntry.by_scikit_learn": "names a scorer; weights are made in `ensembles`",
}
HARMLESS_STAGES = {"numbers": "what is made of them is in the digest of the matrix that is"}
HANDS_ON = ("<lambda>", "build", "made")  # in a task: what hands the arguments on to the function that is declared
SAMPLERS = ["undersample", "oversample", "smote", "smotenc", "borderline_smote", "svm_smote", "adasyn", "near_miss",
            "tomek", "smote_tomek", "smote_enn"]  # fmt: skip
_recorders: list["Recorder"] = []


def _hook(event, arguments):
    if _recorders and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        _recorders[-1].opened.append(os.fsdecode(arguments[0]))


@pytest.fixture(scope="module", autouse=True)
def hook():
    sys.addaudithook(_hook)  # stays until the process ends, and notes nothing without a recorder


class Recorder:
    """What one build opens, which variables it reads and which functions of ours it calls."""

    def __init__(self):
        self.opened, self.variables, self.called = [], set(), set()

    def __enter__(self):
        _recorders.append(self)
        sys.setprofile(self._noted)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        _recorders.pop()

    def _noted(self, frame, event, _):
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if module.partition(".")[0] == "evenhand":
                self.called.add(
                    (module, frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_code.co_qualname)
                )


@cache
def lines_of(file):
    """The names that each top-level statement of a file binds, with its first and last line."""
    nodes = ast.parse(Path(file).read_text(encoding="utf-8")).body
    first = lambda node: min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])  # noqa: E731
    return [(first(node), node.end_lineno, tuple(_bound(node))) for node in nodes]


def places_of(module, file, line):
    return [f"{module}:{name}" for low, high, names in lines_of(file) if low <= line <= high for name in names]


def is_harmless(place):
    module = place.partition(":")[0]
    known = [*NOT_NUMERIC, *HARMLESS_CODE]
    return (
        place in HARMLESS_CODE
        or any(module == each or module.startswith(f"{each}.") for each in known if ":" not in each)
        or (place in NOT_NUMERIC and "in the key" not in NOT_NUMERIC[place])
    )


class Audit:
    """Holds what every build of a run used against its key."""

    def __init__(self, monkeypatch):
        self.undeclared, self.stages = [], set()
        self.digests, self.roots = {}, {}
        self.keep, self.patch = Store.keep, monkeypatch
        audited = self.audited
        monkeypatch.setattr(Store, "keep", lambda store, *given: audited(store, *given))  # noqa: PLW0108
        for module in (model_code, encoder_steps, fitting, sources, tuning, attempting):
            monkeypatch.setattr(module, "code_digest", self.noted_roots)
        read = os._Environ.__getitem__

        def noted(environ, name):
            if _recorders:
                _recorders[-1].variables.add(name)
            return read(environ, name)

        monkeypatch.setattr(os._Environ, "__getitem__", noted)

    def noted_roots(self, *roots):
        digest = code_digest(*roots)
        self.roots[digest] = roots
        return digest

    def audited(self, store, stage, inputs, code, build):
        roots = [code] if isinstance(code, str) else [*code]
        key = json.dumps(inputs, default=lambda value: getattr(value, "__dict__", None) or str(value))
        noted = [root for digest, more in self.roots.items() if digest in key for root in more]
        declared = set(code_of(*roots, *noted))
        recorder = Recorder()

        def recorded(folder):
            with recorder:
                return build(folder)

        entry = self.keep(store, stage, inputs, code, recorded)
        self.digests[str(entry.path)] = self.names_of(entry)
        self.stages.add(stage)
        self.undeclared += [f"{stage} opened {each}" for each in self.strange_files(recorder, key, store)]
        self.undeclared += [
            f"{stage} read ${each}"
            for each in recorder.variables
            if each not in HARMLESS_VARIABLES and not each.startswith(HARMLESS_PREFIXES)
        ]
        self.undeclared += [f"{stage} called {each}" for each in strange_calls(recorder, declared)]
        return entry

    @staticmethod
    def names_of(entry):
        """By which digests a key may name an entry: all of it, one of its parts, or what it says it is."""
        parts = {file.partition("/")[0] for file in entry.files}
        found = {entry.digest, *(entry.part(part) for part in parts)}
        found |= {entry.part(part, "outputs") for part in parts if "outputs" in entry.facts}
        return found | {each for each in [entry.facts.get("digest")] if each}

    def strange_files(self, recorder, key, store):
        for name in dict.fromkeys(os.path.abspath(each) for each in recorder.opened):
            if any(name.startswith(place) for place in HARMLESS_FILES) or "unfinished" in name:
                continue
            if name.endswith((".py", ".pyc")) or not os.path.isfile(name):
                continue  # code is held against what was called
            if any(name.startswith(f"{store.root}/{stage}/") for stage in HARMLESS_STAGES):
                continue
            entry = next((digests for path, digests in self.digests.items() if name.startswith(path)), {"-"})
            if not any(each in key for each in entry) and file_digest(Path(name)) not in key:
                yield name


def strange_calls(recorder, declared):
    for module, file, line, name in recorder.called:
        if (
            file.startswith("<")
            or name == "<module>"
            or (name.rpartition(".")[2] in HANDS_ON and module.startswith("evenhand.tasks."))
        ):
            continue
        places = places_of(module, file, line)
        methods = [f"{module}:{'.'.join(name.split('.')[:2])}"]
        if not declared.intersection([*places, *methods]) and not any(map(is_harmless, [*places, *methods])):
            yield f"{places[0] if places else module} ({name})"


def rows(n=120, **more):
    columns, y = two_clouds(n_common=n, n_rare=n // 2)
    random = np.random.default_rng(0)
    words = random.choice(["wind", "sun", "fog"], size=len(y))
    texts = [" ".join(random.choice(["low", "high", "front", "gust", "dry"], size=6)) for _ in y]
    return {**columns, "sky": np.where(random.random(len(y)) < 0.2, None, words), "report": texts, **more}, y


def whole(study):
    """A study from its rows to its explanation, as the flow does it."""
    from evenhand.tasks.deciding import decide
    from evenhand.tasks.explaining.served_model import explain
    from evenhand.tasks.halving.attempting import attempt
    from evenhand.tasks.refitting import refit

    found = work(study)
    for made in found.plans:
        attempt.fn(made, 1 / 3, 60.0, found.table, found.ledger, study)
    judgement = decide.fn(found.judgement, found.scores, found.table, study)
    model = refit.fn(judgement, found.prepared, found.balanced, found.table, study)
    explain.fn(model, judgement, found.table, found.ledger, study)


def packed_rows():
    """As of many rows, whose matrices are kept packed."""
    write_rows("rows.csv", *rows())
    return make_study(
        encodings={"scaled": {}, "codes": {"numeric": {"bins": "quantile"}, "as": "ordinal"}},
        balance=["none", "undersample"],
        candidates={
            "gaussian_nb": {"encodings": "scaled"},
            "linear_svm": {"encodings": "scaled"},
            "mixed_nb": {"encodings": "codes"},
            "similarity_svm": {"encodings": "codes", "balance": "undersample"},
        },
        columns={"ignore": ["report"]},
    )


def everything():
    write_rows("rows.csv", *rows())
    return make_study(
        encodings={
            "scaled": {"numeric": {"scale": "standard", "polynomial": 2}},
            "codes": {"numeric": {"bins": "mdlp"}, "as": "ordinal"},
            "evidence": {"as": "evidence", "numeric": {"bins": "quantile", "n_bins": 4}},
            "chosen": {"numeric": {"scale": "rank_normal"}, "select": {"top": 2, "trees": 5}},
        },
        balance=["none", "class_weight"],
        candidates={
            "logistic": {"encodings": "scaled"},
            "mixed_nb": {"encodings": "codes", "balance": "none"},
            "selective_nb": {"encodings": "codes", "balance": "none"},
            "similarity_svm": {"encodings": "codes", "balance": "none"},
            "budget_svm": {"encodings": "evidence", "balance": "none"},
            "knn": {"encodings": "chosen", "balance": "none", "params": {"weights": "inverse_square"},
                    "tune": {"trials": 2}},
        },
        ensemble={"bags": 2, "max_size": 3, "votes": "stacked"},
        decide={"cost": {"1": {"0": 5}, "0": {"1": 1}}},
        columns={"ignore": ["report"]},
        cleaning={"rows": ["noise > -9"], "drop_duplicates": True, "missing_values": [-999]},
    )  # fmt: skip


def by_time():
    columns, y = rows(day=pd.date_range("2024-01-01", periods=180).astype(str))
    write_rows("rows.csv", columns, y)
    return make_study(
        columns={"time": "day", "ignore": ["report", "sky"]},
        split={"holdout": "time", "folds": 3, "holdout_share": 0.2},
        candidates={"gaussian_nb": {}, "table_kernel_svm": {}, "svm": {"tune": {"trials": 2}}},
        calibrate="isotonic",
        decide={"metric": "f1"},
    )


def by_group():
    write_rows("rows.csv", *rows(owner=np.arange(180) // 3))
    return make_study(
        columns={"group": "owner", "ignore": ["report", "sky"]},
        split={"holdout": "group", "folds": 3, "holdout_share": 0.25},
        candidates={"gaussian_nb": {"tune": {"trials": 2, "over": {"var_smoothing": [1e-9, 1e-3]}}}},
    )


def numbers():
    columns, y = two_clouds()
    write_rows("rows.csv", columns, y * 3.0 + columns["noise"])
    return make_regression(
        task="regression",
        candidates={
            "ridge": {}, "linear_regression": {}, "interval_nb_regressor": {}, "similarity_svr": {},
            "table_kernel_svr": {}, "svr": {},
        },
        ensemble={"bags": 2, "max_size": 3},
    )  # fmt: skip


def labels():
    columns, y = two_clouds()
    write_rows("rows.csv", {**columns, "wet": (columns["noise"] > 0).astype(int)}, y)
    return make_study(
        target=["y", "wet"],
        balance=["none", "class_weight"],
        candidates={"logistic": {"tune": {"trials": 2}}, "gaussian_nb": {}},
        cleaning={"outliers": "iqr"},
    )


def every_sampler():
    columns, y = two_clouds()
    write_rows("rows.csv", {**columns, "sky": np.where(columns["noise"] > 0, "red", "blue")}, y)
    return make_study(candidates={"gaussian_nb": {}}, balance=SAMPLERS)


STUDIES = {made.__name__: made for made in (everything, by_time, by_group, numbers, labels, every_sampler, packed_rows)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STUDIES)
def test_no_stage_uses_what_is_not_in_its_key(name, tmp_path, monkeypatch):
    study = STUDIES[name]()
    if name == "packed_rows":
        monkeypatch.setattr(parts, "PACKED_FROM", 0)
        monkeypatch.setattr(forms, "MANY_BYTES", 0)
        monkeypatch.setattr(forms, "COPIED_BYTES", 0)
        monkeypatch.setattr(kept, "MANY_BYTES", 0)
        monkeypatch.setattr(frames, "MANY_CELLS", 0)
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "first"))
    whole(study)  # so that all that is imported is imported
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "second"))
    audit = Audit(monkeypatch)

    whole(study)

    if audit.undeclared:
        pytest.fail("\n".join(sorted(set(audit.undeclared))), pytrace=False)
    assert {"snapshot", "table", "ledger", "prepared", "scores", "metrics", "predictions", "model"} <= audit.stages


def test_the_audit_notices_a_file_a_variable_and_a_function_that_are_not_in_the_key(tmp_path, monkeypatch):
    (tmp_path / "secret.txt").write_text("3")
    monkeypatch.setenv("SECRET_SETTING", "1")
    audit = Audit(monkeypatch)

    def build(_):
        from evenhand.data.splits import parsed_fold

        return {
            "n": (tmp_path / "secret.txt").read_text() + os.environ["SECRET_SETTING"],
            "fold": parsed_fold("fold_1"),
        }

    Store().keep("stage", {}, "evenhand.data.splits:content_hashes", build)

    assert audit.undeclared == [
        f"stage opened {tmp_path / 'secret.txt'}",
        "stage read $SECRET_SETTING",
        "stage called evenhand.data.splits:parsed_fold (parsed_fold)",
    ]
