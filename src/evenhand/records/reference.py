"""Where something lies in the store, by a name that holds on every machine."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import PurePosixPath
from typing import Any


@dataclass(frozen=True)
class Reference:
    """An entry of the store by its stage and the digest that it is kept under, or a folder or file in it."""

    stage: str
    key: str
    part: str = ""

    @property
    def entry(self) -> str:
        """The name of the entry, wherever the store lies."""
        return f"{self.stage}/{self.key[:2]}/{self.key}"

    def inside(self, name: str) -> "Reference":
        """A folder or file of this part."""
        return replace(self, part=str(PurePosixPath(self.part) / name))

    def beside(self, name: str) -> "Reference":
        """Another folder or file beside this one."""
        return replace(self, part=str(PurePosixPath(self.part).with_name(name)))


NOWHERE = Reference("", "")  # of rows that are in memory only


def references(content: Any) -> Iterator[Reference]:
    """Every reference in records and what they hold."""
    if isinstance(content, Reference):
        yield content
    elif is_dataclass(content) and not isinstance(content, type):
        for each in fields(content):
            yield from references(getattr(content, each.name))
    elif isinstance(content, dict):
        yield from references(list(content.values()))
    elif isinstance(content, list | tuple):
        for each in content:
            if not isinstance(each, str | int | float):
                yield from references(each)
