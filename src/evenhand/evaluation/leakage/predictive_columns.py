"""Columns that alone predict the target: almost perfectly, or far better than any other column does."""

from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding

ALMOST_PERFECT = 0.9995
HIGH, FAR_FROM_OTHERS = 0.985, 8.0
NOTED, NOTED_FROM_OTHERS = 0.95, 4.0
REMEDY = "put it in columns.ignore if it is known only when the target is"


def target_leakage(rows: CheckedRows) -> CheckFinding:
    """Columns that alone predict the target almost perfectly."""
    found = {name: score for name, score in rows.strengths.items() if score >= ALMOST_PERFECT}
    if not found:
        return CheckFinding("ok", f"none of {len(rows.features)} columns alone predicts {rows.table.target}")
    words = ", ".join(f"'{name}' ({score:.4f})" for name, score in list(found.items())[:5])
    return CheckFinding("warning", f"{words} alone predict {rows.table.target}", REMEDY)


def column_above_all_others(rows: CheckedRows) -> CheckFinding:
    """A column whose distance from perfect is a small part of that of the next best."""
    measure = "AUC" if rows.is_class else "R2 of ranks"
    ranked = sorted(rows.strengths.items(), key=lambda each: -each[1])
    if len(ranked) < 2:
        return CheckFinding("skipped", "there are no other columns to compare with")
    (name, best), (other, second) = ranked[:2]
    words = f"'{name}' alone has {measure} {best:.3f}, the next best, '{other}', {second:.3f}"
    if best >= HIGH and 1 - second >= FAR_FROM_OTHERS * (1 - best):
        return CheckFinding("warning", words, REMEDY)
    if best >= NOTED and 1 - second >= NOTED_FROM_OTHERS * (1 - best):
        return CheckFinding("note", words, REMEDY)
    return CheckFinding("ok", words)
