"""The reference of the docs, made of settings, commands and registries when the site is built."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml
from mkdocs.structure.files import File, Files

import evenhand
import evenhand.estimators
from evenhand.cli.main import main as cli
from evenhand.estimators import HOMES
from evenhand.study.registry import CHECKS, ENCODERS, METRICS, MODELS, SAMPLERS
from evenhand.study.study import Study

ROOT = Path(__file__).resolve().parent.parent
FORMULAS = {
    "accuracy": "right rows / rows",
    "balanced_accuracy": "mean over classes of recall",
    "precision": "TP / (TP + FP)",
    "recall": "TP / (TP + FN)",
    "f1": "2 TP / (2 TP + FP + FN)",
    "precision_macro": "mean over classes of precision",
    "recall_macro": "mean over classes of recall",
    "f1_macro": "mean over classes of F1",
    "precision_weighted": "mean over classes of precision, weighted by their rows",
    "recall_weighted": "mean over classes of recall, weighted by their rows",
    "f1_weighted": "mean over classes of F1, weighted by their rows",
    "minority_accuracy": "recall of the rarest class",
    "roc_auc": "share of pairs (positive, negative) in which the positive has the higher score; ties count half",
    "average_precision": "sum over thresholds of (R_n - R_(n-1)) P_n",
    "roc_auc_ovr": "mean over classes of the area of one class against the rest",
    "roc_auc_ovr_weighted": "the same, weighted by the rows of each class",
    "average_precision_macro": "mean over classes or labels of the average precision of one against the rest",
    "roc_auc_macro": "of several labels: mean of their areas",
    "f1_micro": "2 TP / (2 TP + FP + FN), counted over all labels of all rows",
    "subset_accuracy": "rows of which every label is right / rows",
    "hamming_loss": "wrong labels / labels of all rows",
    "label_ranking_average_precision": (
        "mean over rows and their labels: of those ranked as high, the share that the row has"
    ),
    "log_loss": "- mean of log p(true class)",
    "brier_score_loss": "mean of (p - y)^2; of several classes, of the sum over classes",
    "matthews_corrcoef": "correlation of true and predicted classes",
    "r2": "1 - sum (y - f)^2 / sum (y - mean y)^2",
    "mean_squared_error": "mean of (y - f)^2",
    "root_mean_squared_error": "root of the mean of (y - f)^2",
    "mean_absolute_error": "mean of |y - f|",
    "median_absolute_error": "median of |y - f|",
}
KINDS_OF_ESTIMATORS = {
    "naive_bayes": "Naive Bayes",
    "machines": "Support vector and kernel machines",
    "kernel_matrix": "Kernels",
    "encoding": "Encoding",
    "ensemble": "Ensembles",
    "others": "Other estimators",
}
EXIT_CODES = (
    ("0", "done; `watch --check`: no drift; `status --check`: every tick came"),
    ("1", "anything unforeseen, with its traceback"),
    ("1", "`watch --check`: drift; `status --check`: a tick never came; `trigger --wait`: the run failed"),
    ("2", "a mistake in a command, a study or data, in one message"),
    ("2", "`doctor`: something would stop a run; `watch --check`: it cannot be known"),
    ("130", "Ctrl-C; what was finished is kept"),
    ("143", "SIGTERM; what was finished is kept"),
)


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages to those that were written."""
    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_post_page(output: str, **named: Any) -> str:
    """Name the search for those who do not see it, and let code that scrolls be reached by the keyboard."""
    named_search = output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    return named_search.replace("<pre><span></span><code", '<pre tabindex="0"><span></span><code')


def pages() -> dict[str, str]:
    """Every generated page by its name."""
    return {
        "study": study_page(),
        "commands": commands_page(),
        "metrics": metrics_page(),
        "checks": checks_page(),
        "models": models_page(),
        "python": python_page(),
        "estimators": estimators_page(),
        **{f"estimators_{kind}": page for kind, page in kinds_of_estimators()},
    }


def study_page() -> str:
    """Every key of a study with its type, default, what it does, an example, and since when it is there."""
    schema = Study.model_json_schema(by_alias=True)
    parts = ["# The keys of a study", "Lists may be written as one word."]
    for title, section in (("Study", schema), *schema["$defs"].items()):
        if rows := list(_keys(title, section, schema)):
            where = "".join(f" `{place}`" for place in places_of(title, schema))
            parts.append(f"## {title}\n\n{section.get('description', '')}" + f"\n\nStands below:{where}" * bool(where))
            parts.append(_table(("key", "type", "default", "what it does", "example", "since"), rows))
    return "\n\n".join(parts)


def places_of(title: str, schema: dict[str, Any]) -> list[str]:
    """The keys below which a section stands, by their names from the top of a study."""
    holders = {"": schema, **schema["$defs"]}
    found = []
    for holder, section in holders.items():
        for name, about in section.get("properties", {}).items():
            if f'/{title}"' in json.dumps(about):
                above = places_of(holder, schema) if holder else [""]
                by_name = ".NAME" if "additionalProperties" in json.dumps(about) else ""
                found += [f"{place}.{name}{by_name}".lstrip(".") for place in above]
    return sorted(found)


def _keys(title: str, section: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    required = section.get("required", ())
    examples, since = examples_of_keys(), versions_of_keys()
    for name, about in section.get("properties", {}).items():
        default = "required" if name in required else _default_of(about.get("default"))
        example = _as_yaml(name, examples.get(title, {}).get(name))
        yield f"`{name}`", _type(about), default, _described(about, schema), f"`{example}`", since[title, name]


def examples_of_keys() -> dict[str, dict[str, Any]]:
    """How each key is set, by its section."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docs/examples.yaml").read_text(encoding="utf-8"))
    return found


def _default_of(value: Any) -> str:
    """A default; of a section that stands for itself, that its keys have theirs."""
    return "those of its keys" if isinstance(value, dict) and value else f"`{_short(value)}`"


def versions_of_keys() -> dict[tuple[str, str], str]:
    """Since which version a key is there, by its section and name."""
    kept = yaml.safe_load((ROOT / "docs/since.yaml").read_text(encoding="utf-8"))
    found = [((title, name), version) for version, by in kept.items() for title, names in by.items() for name in names]
    return {key: "the next version" if version == "Unreleased" else version for key, version in found}


def _as_yaml(name: str, value: Any) -> str:
    return yaml.safe_dump({name: value}, default_flow_style=True, width=1000, sort_keys=False).strip()[1:-1]


def _described(about: dict[str, Any], schema: dict[str, Any]) -> str:
    """The words of a key; of one that holds further keys, what those are about."""
    if words := about.get("description"):
        return str(words)
    below = [schema["$defs"][each.rpartition("/")[2]].get("description", "") for each in _references(about)]
    return next(filter(None, below), "")


def _references(about: dict[str, Any]) -> list[str]:
    parts = [about, *about.get("anyOf", ()), *about.get("allOf", ())]
    return [part["$ref"] for part in parts if "$ref" in part]


def _type(about: dict[str, Any]) -> str:
    """A type as people read it."""
    if choices := about.get("enum"):
        shown = ", ".join(f"`{choice}`" for choice in choices[:6])
        return f"one of {shown}" + (" ..." if len(choices) > 6 else "")
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in about:
        kinds = dict.fromkeys(_type(each) for each in about["anyOf"] if each.get("type") != "null")
        return " or ".join(kinds)
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    if isinstance(about.get("additionalProperties"), dict):
        return f"{_type(about['additionalProperties'])} by name"
    return {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}.get(
        about.get("type", ""), "value"
    )


def commands_page() -> str:
    """Every command with its arguments and options, and the exit codes."""
    parts = ["# Commands"]
    for path, command in _commands(cli, "evenhand"):
        words = " ".join((command.help or "").split())
        usage = " ".join(command.collect_usage_pieces(click.Context(command, info_name=path)))
        parts.append(f"## {path}\n\n`{path} {usage}`\n\n{words}")
        options = [param for param in command.params if isinstance(param, click.Option)]
        if rows := [(f"`{', '.join(each.opts)}`", each.help or "", _default(each)) for each in options]:
            parts.append(_table(("option", "what it does", "default"), rows))
    parts.append("## Exit codes\n\n" + _table(("code", "when"), EXIT_CODES))
    return "\n\n".join(parts)


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        elif command is not None:
            yield f"{path} {name}", command


def _default(option: click.Option) -> str:
    return f"`{option.default}`" if isinstance(option.default, str | int) and not option.is_flag else ""


def metrics_page() -> str:
    """Every metric with its formula, its direction and what it needs."""
    rows = [
        (
            f"`{name}`",
            FORMULAS[name],
            "lower" if entry.lower_is_better else "higher",
            ", ".join(entry.tasks),
            entry.needs,
        )
        for name, entry in METRICS.items()
    ]
    words = "Metrics are named as scikit-learn names them. `cv_` is the mean over folds, `holdout_` the holdout."
    return "\n\n".join(["# Metrics", words, _table(("metric", "formula", "better", "task", "needs"), rows)])


def checks_page() -> str:
    """Every leakage check by its name."""
    rows = [(f"`{name}`", entry.words) for name, entry in CHECKS.items()]
    why = "[why it cannot leak](../explanation/leakage.md)"
    words = f"Each can be switched off by its name: `checks: {{identifiers: off}}`. See {why}."
    return "\n\n".join(["# Leakage checks", words, _table(("check", "what it looks for"), rows)])


def models_page() -> str:
    """The catalogues: models, samplers and steps of encodings."""
    models = [
        (f"`{name}`", f"`{entry.home}`", entry.task, entry.takes, ", ".join(f"`{key}`" for key in entry.ranges))
        for name, entry in MODELS.items()
    ]
    samplers = [(f"`{name}`", f"`{entry.home}`" if entry.home else "") for name, entry in SAMPLERS.items()]
    steps = [(entry.step, f"`{entry.word}`", f"`{entry.home}`" if entry.home else "") for entry in ENCODERS.values()]
    return "\n\n".join(
        [
            "# Models, samplers and encodings",
            "Any scikit-learn estimator can be named by its path instead: `model: package.module.Class`.",
            "## Models",
            _table(("model", "class", "task", "takes", "tuned over"), models),
            "## Balance",
            _table(("balance", "class"), samplers),
            "## Steps of an encoding",
            _table(("step", "word", "class"), steps),
        ]
    )


def python_page() -> str:
    """The Python API."""
    parts = ["# Python", "`import evenhand as eh` loads nothing slow; each name is imported when it is first used."]
    return "\n\n".join([*parts, *(f"::: {_home(name)}" for name in evenhand.__all__)])


def _home(name: str) -> str:
    found = getattr(evenhand, name)
    return f"{found.__module__}.{found.__qualname__}"


def estimators_page() -> str:
    """The estimators that stand on their own, with the page that each is on."""
    parts = ["# Estimators", "They follow scikit-learn's conventions and know nothing of studies."]
    rows = [
        (f"[`{name}`](estimators_{kind}.md#evenhand.estimators.{home}.{name})", _first_sentence(name))
        for kind in KINDS_OF_ESTIMATORS
        for name, home in sorted(HOMES.items())
        if _kind_of(home) == kind
    ]
    return "\n\n".join([*parts, _table(("estimator", "what it is"), rows)])


def kinds_of_estimators() -> Iterator[tuple[str, str]]:
    """A page for each kind of estimators."""
    for kind, title in KINDS_OF_ESTIMATORS.items():
        shown = (
            f"::: evenhand.estimators.{home}.{name}" for name, home in sorted(HOMES.items()) if _kind_of(home) == kind
        )
        yield kind, "\n\n".join([f"# {title}", *shown])


def _kind_of(home: str) -> str:
    room, is_below, _ = home.partition(".")
    return room if is_below else "others"


def _first_sentence(name: str) -> str:
    text = " ".join((getattr(evenhand.estimators, name).__doc__ or "").partition("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".")


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _short(value: Any, most: int = 40) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= most else f"{text[: most - 3]}..."
