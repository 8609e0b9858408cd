"""The leakage checks: one entry each, in the order in which they are reported. Nothing heavy is imported here."""

from evenhand.evaluation.leakage.entry import CheckEntry

HOME = "evenhand.evaluation.leakage"
ENTRIES = (
    CheckEntry(
        name="copies across sides",
        home=None,
        severity="error",
        words="judged rows with an exact or near copy among the rows trained on",
    ),
    CheckEntry(
        name="parents of training rows",
        home=None,
        severity="error",
        words="rows that were drawn or made from others than the training rows of their fold",
    ),
    CheckEntry(
        name="permuted labels",
        home=f"{HOME}.permuted_labels.permuted_labels",
        severity="error",
        words="a candidate that learns something from labels that were permuted before all steps",
    ),
    CheckEntry(
        name="training rows later than judged ones",
        home=f"{HOME}.order_of_rows.later_training_rows",
        severity="error",
        words="training rows that are later by columns.time than the rows they are judged on",
    ),
    CheckEntry(
        name="target leakage",
        home=f"{HOME}.predictive_columns.target_leakage",
        severity="warning",
        words="a column that alone predicts the target almost perfectly",
    ),
    CheckEntry(
        name="column above all others",
        home=f"{HOME}.predictive_columns.column_above_all_others",
        severity="warning",
        words="a column that alone predicts the target far better than any other does",
    ),
    CheckEntry(
        name="missing values",
        home=f"{HOME}.outcome_columns.missing_values",
        severity="warning",
        words="a column whose gaps predict the target",
    ),
    CheckEntry(
        name="known after the outcome",
        home=f"{HOME}.after_the_outcome.known_after_the_outcome",
        severity="warning",
        words="a column that is filled in, later than its row, or changes as time passes, where one outcome came only",
    ),
    CheckEntry(
        name="target means",
        home=f"{HOME}.target_means.target_means",
        severity="warning",
        words="a column of the mean target of groups of rows, with the rows to be judged among them",
    ),
    CheckEntry(
        name="identifiers",
        home=f"{HOME}.identifiers.identifiers",
        severity="warning",
        words="a column that numbers or names rows, or rises from row to row, and is learned from",
    ),
    CheckEntry(
        name="groups across sides",
        home=f"{HOME}.groups.groups_across_sides",
        severity="warning",
        words="rows of one customer, machine or other group on both sides of the holdout or of a fold",
    ),
    CheckEntry(
        name="order of rows",
        home=f"{HOME}.order_of_rows.order_of_rows",
        severity="warning",
        words="rows in the order of time that are split at random",
    ),
    CheckEntry(
        name="training against holdout",
        home=f"{HOME}.sides.training_against_holdout",
        severity="warning",
        words="whether features predict that a row is held out",
    ),
    CheckEntry(
        name="unlabelled rows",
        home=f"{HOME}.unlabelled_rows.unlabelled_rows",
        severity="note",
        words="candidates that count values of the rows to be judged, without labels",
    ),
)
