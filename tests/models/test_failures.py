import pytest
from makers import make_plan

from evenhand.errors import CandidateError, DataError, PlaceError
from evenhand.models.failures import Failures, of_plans
from evenhand.records.failures import Failed

KNN = make_plan("knn", params={"n_neighbors": 9})
BAYES = make_plan("gaussian_nb", balance="smote")
BOTH = [KNN, BAYES]


def names(plans):
    return [each.name for each in plans]


@pytest.mark.parametrize(
    ("stage", "key", "left"),
    [
        ("fit", ("knn", "fold_1"), ["gaussian_nb"]),
        ("tune", ("gaussian_nb", "final"), ["knn"]),
        ("balance", ("plain", "smote", "fold_0"), ["knn"]),
        ("fit", ("plain", "fold_0"), ["knn", "gaussian_nb"]),
    ],
)
def test_what_fails_takes_with_it_the_candidates_that_need_it(stage, key, left):
    failures = Failures(BOTH)

    failures.spares(stage, key, DataError("too few rows"))

    assert names(failures.left) == left


def test_a_failed_candidate_has_its_first_reason_and_place():
    failures = Failures(BOTH)

    failures.spares("fit", ("knn", "fold_1"), DataError("too few rows"))
    failures.spares("fit", ("knn", "fold_2"), DataError("something else"))

    (found,) = failures.found
    assert (found.name, found.why, found.params) == ("knn", "too few rows (fold_1)", {"n_neighbors": 9})


def test_an_encoding_that_fails_leaves_nobody_and_its_own_words():
    failures = Failures(BOTH)
    failures.spares("prepare", ("plain", "fold_0"), DataError("fold_0 cannot be encoded"))

    with pytest.raises(DataError, match=r"^fold_0 cannot be encoded$"):
        _ = failures.left


def test_where_all_failed_every_reason_is_listed():
    failures = Failures(BOTH)
    failures.spares("fit", ("knn", "fold_0"), DataError("too few rows"))
    failures.spares("fit", ("gaussian_nb", "fold_1"), DataError("too many"))

    with pytest.raises(
        DataError, match=r"(?s)none of 2 candidates.*'knn': too few rows \(fold_0\).*'gaussian_nb': too many"
    ):
        _ = failures.left


@pytest.mark.parametrize(
    ("is_strict", "error"), [(True, DataError("x")), (False, PlaceError("disk full")), (False, IndexError("a bug"))]
)
def test_a_strict_run_a_full_disk_and_a_fault_of_the_program_spare_nobody(is_strict, error):
    failures = Failures(BOTH, is_strict)

    assert not failures.spares("fit", ("knn", "fold_0"), error)
    assert names(failures.left) == ["knn", "gaussian_nb"]


def test_results_of_failed_candidates_are_left_out():
    results = {("knn", "fold_0"): 1, ("gaussian_nb", "fold_0"): 2}

    assert of_plans([KNN], results) == {("knn", "fold_0"): 1}


def test_what_was_late_is_stopped_even_in_a_strict_run_and_what_was_stopped_before_stays_so():
    before = Failed("slow", "behind", is_stopped=True)
    failures = Failures(BOTH, True, [before])
    late = CandidateError("the minutes were over")
    late.is_late = True

    assert failures.spares("fit", ("knn", "fold_0"), late)

    assert [(each.name, each.is_stopped) for each in failures.found] == [("knn", True), ("slow", True)]
    assert names(failures.left) == ["gaussian_nb"]


def test_what_was_late_did_not_fail_and_is_no_warning(caplog):
    late = CandidateError("the minutes were over")
    late.is_late = True

    with caplog.at_level("INFO"):
        Failures(BOTH).spares("fit", ("knn", "fold_0"), late)

    assert [(line.levelname, line.getMessage()) for line in caplog.records] == [
        ("INFO", "fit of knn did not come to its turn on fold_0: the minutes were over")
    ]
