"""What can be averaged: classes, shapes and ranges of stored scores, each refusal with its remedy."""

from sklearn.utils.multiclass import type_of_target


def require(holds, message):
    """Raise the message as a ValueError unless the claim holds."""
    if not holds:
        raise ValueError(message + ".")


def check_scores(scores, y, classes, average, metric):
    """Check that scores of one or of every class fit the classes of y, the way of averaging and the metric."""
    n_classes = len(classes)
    require(n_classes > 1, f"y has one class only, {classes.tolist()}: a metric needs two")
    if scores.ndim == 2:
        found = f"Only binary classification is supported. The type of the target is {type_of_target(y)}."
        require(n_classes == 2, f"{found} Give scores of shape (n_rows, n_models, n_classes)")
        if average == "probability":
            _check_range(scores)
        return
    require(scores.ndim == 3, f"scores have {scores.ndim} dimensions. Give (n_rows, n_models) or one more, of classes")
    require(
        scores.shape[2] == n_classes,
        f"scores hold {scores.shape[2]} classes but y holds {n_classes}: {classes.tolist()}",
    )
    require(average == "probability", "average='rank' needs one score per row and model")
    require(not hasattr(metric, "cut"), "a DecisionMetric decides between two classes; use a scorer or a callable")
    require(metric != "roc_auc", "metric='roc_auc' judges two classes; use 'roc_auc_ovr' or '_ovo'")


def _check_range(scores):
    if scores.min() >= 0 and scores.max() <= 1:
        return
    outside = ((scores < 0) | (scores > 1)).any(axis=0)
    raise ValueError(
        f"average='probability' needs scores within [0, 1], but {int(outside.sum())} of {outside.size} models, "
        f"first number {int(outside.argmax())}, leave that range. Use average='rank' for decision values."
    )
