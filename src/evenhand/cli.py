"""The command line: parse, call one flow, print."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evenhand.settings import Study

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Told(click.Group):
    """Turns an EvenhandError into its text and exit code 2, and leaves everything else its traceback."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from evenhand.stopping import at_once

        with at_once():
            return super().__call__(*arguments, **named)

    def invoke(self, ctx: click.Context) -> Any:
        from evenhand.errors import EvenhandError

        try:
            return super().invoke(ctx)
        except EvenhandError as error:
            click.echo(f"evenhand: {error}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt as ended:
            from evenhand.stopping import INTERRUPTED, TERMINATED, Terminated

            is_ours = not isinstance(ended, Terminated)
            word, code = ("interrupted", INTERRUPTED) if is_ours else ("terminated", TERMINATED)
            click.echo(f"evenhand: {word}; what was finished is kept, run again to go on", err=True)
            ctx.exit(code)


@click.group(cls=Told, context_settings=CONTEXT)
@click.version_option(package_name="evenhand")
def main() -> None:
    """Retrain and compare classical models on imbalanced tables, without leaks."""


def _study(conf: str, changes: tuple[str, ...]) -> "Study":
    from evenhand.conf import load_study

    return load_study(conf, changes)


set_option = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a setting, such as split.folds=3; repeatable."
)
only_option = click.option("--only", metavar="GLOB", help="Only candidates whose name matches, such as 'svm*'.")


@main.command()
@click.argument("conf", type=click.Path())
@set_option
@only_option
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Write the report as JSON to this file.")
@click.option("--accept-contract", is_flag=True, help="Take data of another form than earlier runs had.")
@click.option("--allow-leaks", is_flag=True, help="Go on where a look for leaks failed; the run is tagged.")
def run(conf: str, changes: tuple[str, ...], only: str | None, json_file: str | None, **flags: bool) -> None:
    """Run the study in CONF from raw data to a ranked comparison."""
    from evenhand.flows.running import be_quiet, run_study

    study = _study(conf, changes)
    be_quiet()
    from evenhand.screen import following, show_report

    with following(study.name):
        report = run_study(study, only, accepts_contract=flags["accept_contract"], allows_leaks=flags["allow_leaks"])
    show_report(report)
    if json_file:
        _write(Path(json_file), json.dumps(report.as_json(), indent=2, default=str) + "\n")


@main.command()
@click.argument("conf", type=click.Path())
@set_option
@only_option
def candidates(conf: str, changes: tuple[str, ...], only: str | None) -> None:
    """List what CONF would run: encodings x balances x models, and how many fits."""
    study = _study(conf, changes)
    from evenhand.flows.reading import planned
    from evenhand.screen import show_plans

    show_plans(study, planned(study, only))


@main.command()
@click.argument("study", required=False)
@click.option("--metric", help="Rank by this metric instead of the study's own.")
def show(study: str | None, metric: str | None) -> None:
    """Show the leaderboard of the latest run of STUDY, read from MLflow; without STUDY, list the studies."""
    from evenhand.flows.running import be_quiet

    be_quiet()
    from evenhand.flows.reading import known_studies, latest_leaderboard
    from evenhand.screen import show_leaderboard, show_studies

    if study is None:
        show_studies(known_studies())
    else:
        show_leaderboard(latest_leaderboard(study, metric))


@main.command()
@click.option("--output", type=click.Path(dir_okay=False), default="conf/study.schema.json", show_default=True)
def schema(output: str) -> None:
    """Write the JSON Schema of study files, which lets editors complete them."""
    from evenhand.conf import schema as schema_text

    _write(Path(output), schema_text())
    click.echo(f"wrote {output}")


@main.command()
@click.option("--most", default="10GB", show_default=True, help="The size to keep, such as 500MB or 20GB.")
def prune(most: str) -> None:
    """Remove the results that were not used for longest until the store fits."""
    from evenhand.store import Store
    from evenhand.units import parsed_size, size_text

    store = Store()
    store.sweep()
    removed, left = store.prune(parsed_size(most))
    click.echo(f"removed {removed} results; {size_text(left)} left in {store.root}")


@main.command()
@click.argument("data")
@click.option("--target", required=True, help="The column to predict.")
@click.option(
    "--output", type=click.Path(dir_okay=False), help="Where to write it; left out: conf/<name of DATA>.yaml."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def init(data: str, target: str, output: str | None, force: bool) -> None:
    """Look at DATA (a file, folder or address) and write a study for it that runs as it is."""
    import shlex

    from evenhand.errors import PlaceError
    from evenhand.flows.running import be_quiet

    file = Path(output or f"conf/{_as_name(data)}.yaml")
    if file.exists() and not force:
        raise PlaceError(f"'{file}' is there already: say --force to replace it, or --output for another file")
    be_quiet()
    from evenhand.flows.drafting import draft

    drafted = draft(data, target, _heading(file))
    _write(file, drafted.text)
    for line in drafted.lines:
        click.echo(line)
    click.echo(f"wrote {file}; next: evenhand run {shlex.quote(str(file))}")


def _as_name(data: str) -> str:
    import re

    stem = data.rstrip("/").rpartition("/")[2].partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_-") or "study"


def _heading(file: Path) -> tuple[str, ...]:
    """What stands first: the schema where it lies beside the file, a name where the file's will not do."""
    schema_line = ["# yaml-language-server: $schema=study.schema.json"]
    named = _as_name(file.name)
    beside = schema_line if (file.parent / "study.schema.json").exists() else []
    return (*beside, *([f"name: {named}"] if named != file.stem else []))


@main.command()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True)
def ui(port: int) -> None:
    """Serve MLflow's pages of all runs on this machine until Ctrl-C."""
    from evenhand.flows.running import be_quiet
    from evenhand.servers import check_free, serve_runs

    check_free(port)
    be_quiet()
    from evenhand.flows.viewing import latest_view

    uri, path, study = latest_view()
    if uri.startswith("http"):
        click.echo(f"runs are kept by the server at {uri}, which serves its own pages: {uri.rstrip('/')}{path}")
        return
    click.echo(f"latest study: {study}" if study else "no study has run yet: evenhand run conf/quickstart.yaml")
    click.echo("starting MLflow's pages ...")
    serve_runs(uri, port, lambda address: click.echo(f"open {address}{path}  (Ctrl-C ends)"))
    click.echo("ended")


@main.command()
@click.argument("study", metavar="[STUDY|RUN_ID]", required=False)
@click.option("--print-path", is_flag=True, help="Print where the page lies instead of opening it.")
def report(study: str | None, print_path: bool) -> None:
    """Open the HTML page of the latest run of STUDY or of a run; without either, of the study that ran last."""
    from evenhand.flows.running import be_quiet
    from evenhand.servers import has_display

    be_quiet()
    from evenhand.flows.viewing import latest_page

    page = latest_page(study)
    click.echo(page)
    if not print_path and has_display():
        import webbrowser

        webbrowser.open(page.as_uri())


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option("--exact", is_flag=True, help="Only the figures that hang on no random split.")
@click.option("--beyond", is_flag=True, help="Also run Evenhand's best on the same rows.")
@click.option("--all", "every_line", is_flag=True, help="Show every figure, not only those that differ.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False), help="Write the table as JSON to this file.")
@click.option(
    "--markdown", "page_file", type=click.Path(dir_okay=False), help="Write the table as Markdown to this file."
)
def replicate(
    names: tuple[str, ...], exact: bool, beyond: bool, every_line: bool, json_file: str | None, page_file: str | None
) -> None:
    """Run the studies behind the published figures and compare; NAME is one of them, left out: all."""
    from evenhand.flows.running import be_quiet
    from evenhand.replication.studies import modern_studies, studies

    chosen = studies(names, only_exact=exact)
    modern = modern_studies(chosen) if beyond else {}
    be_quiet()
    from evenhand.flows.replicate import run_replication
    from evenhand.replication.terminal import show
    from evenhand.replication.wording import markdown

    found = run_replication(chosen, modern)
    show(found, every_line)
    if json_file:
        _write(Path(json_file), json.dumps(found.as_json(), indent=2) + "\n")
    if page_file:
        _write(Path(page_file), markdown(found.lines, found.with_beyond))


@main.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Check versions, folders, databases, servers and speed; exit code 2 where something would stop a run."""
    from evenhand.flows.running import be_quiet
    from evenhand.health import examine

    be_quiet()
    has_failed = False
    for finding in examine():
        has_failed = has_failed or finding.state == "fail"
        colour = {"ok": "green", "warn": "yellow", "fail": "red"}[finding.state]
        click.echo(f"{click.style(f'{finding.state:5}', fg=colour)} {finding.what}: {finding.found}")
        if finding.remedy:
            click.echo(f"      -> {finding.remedy}")
    if has_failed:
        ctx.exit(2)


@main.command()
@click.argument("study")
@click.argument("source", metavar="ROWS")
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--run", "run_id", help="The model of this run; left out: the champion's, else the latest run's.")
def score(study: str, source: str, output: Path, run_id: str | None) -> None:
    """Score the ROWS of a file with the model of STUDY into OUTPUT (.parquet or .csv), with a manifest beside it."""
    from evenhand.flows.running import be_quiet, run_scoring
    from evenhand.wording import counted

    be_quiet()
    found = run_scoring(study, source, output, run_id)
    model = f"version {found.version}" if found.version else "not registered"
    click.echo(f"scored {found.n_scored:,} of {found.n_rows:,} rows with run {found.run_id} ({model}) -> {output}")
    for column, wrong in found.strange.items():
        examples = ", ".join(f"'{value}'" for value in wrong["examples"])
        click.echo(f"no number in column '{column}': {counted(wrong['rows'], 'row')}, such as {examples}")
    if found.quarantine:
        click.echo(f"put aside {counted(found.n_quarantined, 'row')} -> {found.quarantine}")
    click.echo(f"manifest -> {found.manifest}")


@main.group()
def champion() -> None:
    """Tell or change which model of a study serves; every change is kept with who, when and why."""


why_option = click.option("--why", required=True, help="The reason, which stays in the ledger.")
version_option = click.option("--version", type=click.IntRange(1), help="A version of the registry.")


@champion.command("show")
@click.argument("study")
def show_champion(study: str) -> None:
    """Show the champion of STUDY; an alias in MLflow that says something else is told and set right."""
    from evenhand.flows.champion import standing
    from evenhand.flows.running import be_quiet

    be_quiet()
    _show_standing(study, standing(study))


@champion.command()
@click.argument("study")
def history(study: str) -> None:
    """List every decision on STUDY, the latest last."""
    from evenhand.flows.champion import standing
    from evenhand.flows.running import be_quiet

    be_quiet()
    for line in standing(study).decisions.lines:
        candidate = f"version {line.candidate.version}" if line.candidate.version else f"run {line.candidate.run_id}"
        against = f", champion was version {line.champion.version}" if line.champion else ""
        click.echo(f"{line.number:>3}  {line.when}  {line.verdict}: {candidate}{against}")
        click.echo(f"     by {line.who}: {line.why}")


@champion.command()
@click.argument("study")
@version_option
@why_option
def promote(study: str, version: int | None, why: str) -> None:
    """Make the model of the latest run of STUDY champion, or a version, once a clean process has proved it."""
    from evenhand.flows.champion import promote_run
    from evenhand.flows.running import be_quiet

    be_quiet()
    _show_standing(study, promote_run(study, why, version))


@champion.command()
@click.argument("study")
@version_option
@why_option
def rollback(study: str, version: int | None, why: str) -> None:
    """Make the champion before, or an earlier one by its version, champion of STUDY again."""
    from evenhand.flows.champion import go_back
    from evenhand.flows.running import be_quiet

    be_quiet()
    _show_standing(study, go_back(study, why, version))


def _show_standing(study: str, found: Any) -> None:
    for words in found.mended:
        click.echo(f"mended: {words}")
    if not found.decisions.reigns:
        click.echo(f"study {study} has no champion yet: evenhand champion promote {study} --why '...'")
        return
    reign = found.decisions.reigns[-1]
    click.echo(f"champion of {study}: version {reign.candidate.version}, run {reign.candidate.run_id}")
    click.echo(f"since {reign.when} by {reign.who} ({reign.verdict}): {reign.why}")
    for name, value in reign.figures.items():
        click.echo(f"  {name} {value:.4f}")


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from evenhand.errors import PlaceError

    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(file)
    except OSError as error:
        raise PlaceError(f"'{file}' cannot be written: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
