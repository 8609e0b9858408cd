"""What plain words of a study file are: as editors and YAML 1.2 read them, and text where a number is in doubt."""

import re
from typing import Any

import yaml

FREE = {"params", "grid", "over"}  # below these, no setting says where a truth value is meant
SWITCHES = {"yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"}
TAG = "tag:yaml.org,2002:"
FORMS = {
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?(0|[1-9][\d_]*|0x[\da-fA-F_]+|0b[01_]+)",
    "float": r"[-+]?((\d[\d_]*\.[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.(inf|Inf|INF))|\.(nan|NaN|NAN)",
}


class Reader(yaml.SafeLoader):
    """Leaves `1:30`, `010`, `2026-01-31` and `no` as they are written, where YAML 1.1 has 90, 8, a date and false."""

    yaml_implicit_resolvers = {
        sign: [(tag, form) for tag, form in found if tag in {f"{TAG}null", f"{TAG}merge"}]
        for sign, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


for kind, form in FORMS.items():
    Reader.add_implicit_resolver(f"{TAG}{kind}", re.compile(rf"(?:{form})\Z", re.ASCII), list("tTfF-+.0123456789"))


def read_yaml(text: str, *place: str) -> Any:
    """The value of a text that stands at this place of a study."""
    return value_of(composed(text, *place))


def composed(text: str, *place: str) -> yaml.Node | None:
    """The nodes of a text that stands at this place of a study."""
    found = yaml.compose(text, Loader=Reader)
    if found is not None:
        _mark_switches(found, not FREE.isdisjoint(place))
    return found


def value_of(node: yaml.Node | None) -> Any:
    """What a node and those below it stand for."""
    return None if node is None else Reader("").construct_document(node)


def _mark_switches(node: yaml.Node, is_free: bool) -> None:
    """Make truth values of `yes` and `no` among arguments of models, of which nothing is known here."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _mark_switches(value, is_free or key.value in FREE)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _mark_switches(value, is_free)
    elif is_free and isinstance(node, yaml.ScalarNode) and node.style is None and node.value in SWITCHES:
        node.tag = f"{TAG}bool"
