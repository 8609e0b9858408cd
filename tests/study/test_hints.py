"""What a message suggests in place of a word that is not known."""

import pytest

from evenhand.errors import ConfError, nearest
from evenhand.study.registry import METRICS, check_metric


@pytest.mark.parametrize(
    ("word", "meant"), [("rmse", "root_mean_squared_error"), ("mae", "mean_absolute_error"), ("ROC_AUC", "roc_auc")]
)
def test_what_people_write_for_a_metric_leads_to_its_name(word, meant):
    assert nearest(word, METRICS) == f" Did you mean '{meant}'?"


def test_a_metric_by_its_initials_is_refused_with_its_name():
    with pytest.raises(ConfError, match=r"no metric 'rmse'\. Did you mean 'root_mean_squared_error'"):
        check_metric("rmse")


def test_a_word_like_no_other_leads_nowhere():
    assert nearest("zzz", METRICS) == ""
