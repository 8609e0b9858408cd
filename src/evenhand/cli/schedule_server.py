"""The child of `evenhand up` that runs the schedules of study files."""

import sys


def main(confs: list[str]) -> None:
    """Run what is due until SIGTERM."""
    from evenhand.flows.tick import tick
    from evenhand.service.schedule_server import serve

    serve(confs, tick, _echo)


def _echo(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
