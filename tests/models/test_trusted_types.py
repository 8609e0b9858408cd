"""What a stored model may hold: exact names, each found to live where it says, and nothing looked up beyond them."""

import sys
from functools import partial
from zipfile import ZipFile

import numpy as np
import pytest
import scipy.sparse
import skops.io
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils._testing import check_output

from evenhand.errors import EvenhandError
from evenhand.models.serialization import read_model
from evenhand.models.trusted_types import LISTED, _is_at, refused_types
from evenhand.study.registry import MODELS, named_object


@pytest.mark.parametrize("name", sorted(LISTED))
def test_everything_on_the_list_is_defined_under_that_name(name):
    assert _is_at(name)


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.utils._testing.check_output",
        "sklearn.utils._testing.assert_run_python_script_without_output",
        "sklearn.utils.fixes.threadpoolctl",
        "numpy.load",
        "evenhand.cli.main.main",
        "os.system",
    ],
)
@pytest.mark.parametrize("models", [[], ["knn"], ["sklearn.ensemble.GradientBoostingClassifier"]])
def test_what_is_not_on_the_list_is_refused_whatever_it_is_called(name, models):
    assert refused_types([name], models) == [name]


def test_a_program_behind_a_name_of_scikit_learn_is_not_loaded_and_not_started(tmp_path):
    file, mark = tmp_path / "model.skops", tmp_path / "started"
    skops.io.dump(FunctionTransformer(partial(check_output, ["touch", str(mark)])), tmp_path / "plain.skops")
    with ZipFile(tmp_path / "plain.skops") as plain, ZipFile(file, "w") as renamed:
        for part in plain.infolist():
            renamed.writestr(part, plain.read(part).replace(b'"subprocess"', b'"sklearn.utils._testing"'))
    assert "sklearn.utils._testing.check_output" in skops.io.get_untrusted_types(file=file)

    with pytest.raises(EvenhandError, match="not on our list"):
        read_model(file, ["knn"])

    assert not mark.exists()


def test_a_module_that_only_a_file_names_is_never_imported(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert refused_types(["planted.Thing"], ["knn", "sklearn.svm.SVC"]) == ["planted.Thing"]
    assert "planted" not in sys.modules


def test_types_that_came_with_a_class_of_the_study_are_trusted_and_functions_elsewhere_in_its_package_are_not():
    named = [f"{KNeighborsClassifier.__module__}.KNeighborsClassifier"]

    found = ["sklearn.neighbors._unsupervised.NearestNeighbors", "sklearn.utils.validation.indexable"]

    refused = refused_types(found, named)

    assert refused == ["sklearn.utils.validation.indexable"]


@pytest.mark.parametrize("name", ["knn", "svm", "budget_svm", "nu_svm", "kernel_ridge", "knn_regressor", "svr"])
@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_a_model_of_rows_of_words_can_be_read_again(tmp_path, name, form):
    words = form(np.random.default_rng(0).integers(0, 3, (20, 4)).astype(float))
    entry, file = MODELS[name], tmp_path / "model.skops"
    model = named_object(entry.home, name)(**entry.defaults).fit(words, np.arange(20) % 2)
    skops.io.dump(model, file)

    refused = refused_types(skops.io.get_untrusted_types(file=file), [name])

    assert refused == []
