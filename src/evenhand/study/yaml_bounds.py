"""Bounds of YAML, checked on its events before anything is made of it: size, depth, and what aliases come to."""

import yaml

from evenhand.errors import ConfError

MOST_SIGNS, MOST_DEPTH, MOST_NODES = 2_000_000, 50, 100_000
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


def check_bounds(text: str, name: str) -> None:
    """Refuse a text whose content would be larger or deeper than any study is."""
    if len(text) > MOST_SIGNS:
        raise ConfError(
            f"{name} has {len(text):,} signs, more than the {MOST_SIGNS:,} that are read: use globs for columns."
        )
    sizes: dict[str, int] = {}
    inside: list[tuple[str | None, int]] = []  # what is open, by its anchor, and how much there was before it
    n_nodes = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, CLOSING):
            anchor, before = inside.pop()
            if anchor is not None:
                sizes[anchor] = n_nodes - before
        elif isinstance(event, OPENING):
            inside.append((event.anchor, n_nodes))
            n_nodes += 1
        elif isinstance(event, yaml.AliasEvent):
            _check_closed(event, inside, name)
            n_nodes += sizes.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            n_nodes += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        _check_counts(event, len(inside), n_nodes, name)


def _check_closed(event: yaml.AliasEvent, inside: list[tuple[str | None, int]], name: str) -> None:
    if event.anchor in {anchor for anchor, _ in inside}:
        raise ConfError(
            f"{name} line {_line(event)}: *{event.anchor} stands inside of &{event.anchor}, so it would "
            "hold itself without end. Take it out."
        )


def _check_counts(event: yaml.Event, depth: int, n_nodes: int, name: str) -> None:
    line = _line(event)
    if depth > MOST_DEPTH:
        raise ConfError(f"{name} line {line}: it is nested more than {MOST_DEPTH} deep. No study is: take levels out.")
    if n_nodes > MOST_NODES:
        raise ConfError(
            f"{name} line {line}: with its aliases it comes to more than {MOST_NODES:,} values. No study does: write "
            "fewer aliases (*), or name columns by globs."
        )


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1
