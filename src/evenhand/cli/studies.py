"""Commands that run a study, list what it would run, write one, and bound what is kept."""

import time
from pathlib import Path

import click

from evenhand.cli.shared import (
    STDOUT,
    check_json,
    echo,
    json_option,
    only_option,
    set_option,
    study_of,
    write,
    write_json,
)


@click.command()
@click.argument("conf", type=click.Path())
@set_option
@only_option
@click.option("--engine", help="threads, processes, dask, or the address of a Dask scheduler.")
@json_option
@click.option("--quiet", is_flag=True, help="Show nothing but errors.")
@click.option("--again", is_flag=True, help="Go through every stage even if nothing has changed since the last run.")
@click.option("--accept-contract", is_flag=True, help="Take data of another form than earlier runs had.")
@click.option("--allow-leaks", is_flag=True, help="Go on where a leakage check failed; the run is tagged.")
def run(
    conf: str,
    changes: tuple[str, ...],
    only: str | None,
    engine: str | None,
    json_file: str | None,
    quiet: bool,
    again: bool,
    accept_contract: bool,
    allow_leaks: bool,
) -> None:
    """Run the study in CONF from raw data to a ranked comparison."""
    from contextlib import nullcontext

    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting
    from evenhand.runtime.starting import importing
    from evenhand.service.prefect_session import come_up, leave

    with nullcontext() if quiet else waiting("loading"), importing():
        if Path(conf).is_file():
            come_up()  # Prefect's server, beside all that follows
        study = study_of(conf, (*changes, *([f"engine{'.dask' * ('://' in engine)}={engine}"] if engine else ())))
        check_json(json_file)
        from evenhand.api.launch import prepare

        prepare()
        from evenhand.reporting.terminal.run import show_done, show_judgement
        from evenhand.runtime.progress import showing
        from evenhand.runtime.wall_clock import began, peak_mb
    is_shown = not quiet and json_file != STDOUT
    with showing(show_judgement) if is_shown else nullcontext():
        done = eh.run(
            study, only=only, accept_contract=accept_contract, allow_leaks=allow_leaks, again=again, progress=not quiet
        )
    leave()
    if is_shown:
        show_done(done.result, done.recalled, time.perf_counter() - began())
    if json_file:
        measured = {"wall_seconds": time.perf_counter() - began(), "peak_mb": peak_mb()}
        write_json(json_file, {**done.as_json(), **measured})


@click.command()
@click.pass_context
def demo(ctx: click.Context) -> None:
    """Write conf/quickstart.yaml, unless it is there, and run it: rows and study come with the program."""
    import evenhand as eh
    from evenhand.service.prefect_session import come_up

    come_up()
    ctx.invoke(run, conf=str(eh.demo()))


@click.command()
@click.argument("conf", type=click.Path())
@set_option
@only_option
def candidates(conf: str, changes: tuple[str, ...], only: str | None) -> None:
    """List what CONF would run: encodings x balances x models, and how many fits."""
    study = study_of(conf, changes)
    from evenhand.reporting.terminal.waiting import waiting

    with waiting("reading the study"):
        from evenhand.api.studies import plans_of, refuse_fractions
        from evenhand.reporting.terminal.run import show_plans

        plans = plans_of(study, only)
    show_plans(study, plans)
    if unknown := refuse_fractions(study, plans):
        click.echo(f"note: {unknown}")


@click.command()
@click.option("--output", type=click.Path(dir_okay=False), default="conf/study.schema.json", show_default=True)
def schema(output: str) -> None:
    """Write the JSON Schema of study files, which lets editors complete them."""
    import evenhand as eh

    write(Path(output), eh.schema())
    echo(f"wrote {output}")


@click.command()
@click.option("--most", default="10GB", show_default=True, help="The size to keep, such as 500MB or 20GB.")
def prune(most: str) -> None:
    """Remove the results that were not used for longest until the store fits."""
    import evenhand as eh

    echo(repr(eh.prune(most)))


@click.command()
@click.argument("data")
@click.option("--target", required=True, help="The column to predict.")
@click.option(
    "--output", type=click.Path(dir_okay=False), help="Where to write it; left out: conf/<name of DATA>.yaml."
)
@click.option("--preset", default="balanced", show_default=True, help="How much to try: fast, balanced or best.")
@click.option("--minutes", type=float, help="Of the whole run; left out: those of the preset (0.5, 5, 15).")
@click.option("--task", help="classification or regression; left out: few values are classes, many are numbers.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def init(
    data: str, target: str, output: str | None, preset: str, minutes: float | None, task: str | None, force: bool
) -> None:
    """Look at DATA (a file, folder or address) and write a study for it that runs as it is."""
    import shlex

    import evenhand as eh
    from evenhand.reporting.terminal.waiting import waiting

    file = Path(output or f"conf/{_as_name(data)}.yaml")
    if file.exists() and not force:
        raise eh.PlaceError(f"'{file}' is there already: use --force to replace it, or --output for another file")
    with waiting("looking at the data"):
        drafted = eh.draft(data, target, _heading(file), preset=preset, minutes=minutes, task=task)
    write(file, drafted.text)
    for line in drafted.lines:
        echo(line)
    echo(f"wrote {file}; next: evenhand run {shlex.quote(str(file))}")


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


COMMANDS = (run, demo, candidates, schema, prune, init)
