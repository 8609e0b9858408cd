"""Where something lies in the store, by a name that holds on every machine."""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath


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
