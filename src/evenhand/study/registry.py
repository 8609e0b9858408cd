"""The words a study file may use for models, metrics and balances."""

from typing import Literal, get_args

from evenhand.errors import ConfError, nearest

Task = Literal["classification", "regression"]
BalanceKind = Literal[
    "none",
    "class_weight",
    "undersample",
    "oversample",
    "smote",
    "smotenc",
    "smoten",
    "borderline_smote",
    "svm_smote",
    "adasyn",
    "near_miss",
    "tomek",
    "smote_tomek",
    "smote_enn",
]
BALANCES: tuple[str, ...] = get_args(BalanceKind)
UNSAMPLED = frozenset({"none", "class_weight"})
DECISION_METRICS = ("f1", "f_beta", "matthews_corrcoef", "balanced_accuracy")
CLASSIFIERS = (
    "gaussian_nb",
    "bernoulli_nb",
    "multinomial_nb",
    "complement_nb",
    "categorical_nb",
    "mixed_nb",
    "selective_nb",
    "knn",
    "svm",
    "linear_svm",
    "budget_svm",
    "nu_svm",
    "one_class_svm",
    "similarity_svm",
    "table_kernel_svm",
    "perceptron",
    "logistic",
    "decision_tree",
    "random_forest",
    "boosting",
    "dummy",
)
REGRESSORS = (
    "knn_regressor",
    "svr",
    "linear_svr",
    "similarity_svr",
    "table_kernel_svr",
    "kernel_ridge",
    "interval_nb_regressor",
    "linear_regression",
    "ridge",
    "decision_tree_regressor",
    "random_forest_regressor",
    "boosting_regressor",
    "dummy_regressor",
)
BINARY_METRICS = (
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "f1",
    "minority_accuracy",
    "roc_auc",
    "average_precision",
    "log_loss",
    "brier_score_loss",
    "matthews_corrcoef",
)
MULTICLASS_METRICS = (
    "accuracy",
    "balanced_accuracy",
    "precision_macro",
    "recall_macro",
    "f1_macro",
    "precision_weighted",
    "recall_weighted",
    "f1_weighted",
    "minority_accuracy",
    "roc_auc_ovr",
    "roc_auc_ovr_weighted",
    "log_loss",
    "matthews_corrcoef",
)
REGRESSION_METRICS = (
    "r2",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
)
METRICS = tuple(dict.fromkeys((*BINARY_METRICS, *MULTICLASS_METRICS, *REGRESSION_METRICS)))
LOWER_IS_BETTER = frozenset(
    {"log_loss", "brier_score_loss", "root_mean_squared_error", "mean_absolute_error", "median_absolute_error"}
)
RESERVED_NAMES = ("ensemble",)
POWER_DIFFERENCE = 0.02  # the power is reported for: a true difference of so much between two candidates


def check_metric(metric: str | None) -> None:
    """Refuse a metric that there is not."""
    if metric is not None and metric not in METRICS:
        raise ConfError(f"there is no metric '{metric}'.{nearest(metric, METRICS)} Known: {', '.join(METRICS)}")
