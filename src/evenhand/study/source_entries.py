"""Where rows can come from: one entry each. Nothing heavy is imported here."""

from dataclasses import dataclass

from evenhand.errors import ConfError


@dataclass(frozen=True, kw_only=True)
class SourceEntry:
    """A source.

    Parameters
    ----------
    name : its key below `source` in study files.
    home : package.module.function of (value, study, scratch) that gives an Opened: the value is what the study says
        below the key, scratch an empty folder that is gone after the rows were read.
    words : what it is, for editors and messages.
    settings : package.module.Model of pydantic that the value is checked by when a study is loaded; ours have fields of
        `Source`, and others may leave it out to take any value.
    """

    name: str
    home: str
    words: str
    settings: str | None = None

    def __post_init__(self) -> None:
        for key in ("home", "settings"):
            if (path := getattr(self, key)) is not None and "." not in path:
                raise ConfError(f"the source entry '{self.name}' has {key} {path!r}. Give package.module.name.")


HOME = "evenhand.data.sources"
ENTRIES = (
    SourceEntry(name="path", home=f"{HOME}.open_path", words="a file, a folder, a glob, or a list of them"),
    SourceEntry(name="url", home=f"{HOME}.open_url", words="an http(s), s3 or gs address"),
    SourceEntry(name="sql", home=f"{HOME}.open_query", words="a query and the database it is put to"),
    SourceEntry(name="openml", home=f"{HOME}.open_openml", words="the id of a data set on OpenML"),
    SourceEntry(name="sklearn", home=f"{HOME}.open_bundled", words="a data set or generator of scikit-learn"),
    SourceEntry(
        name="frame", home=f"{HOME}.open_frame", words="a data frame that a program gives, kept by its content"
    ),
)
