"""What can go wrong through no fault of the program: a mistake in conf, in data or in the surroundings."""

import difflib
from collections.abc import Iterable


class EvenhandError(Exception):
    """Reported in one message without a traceback; the command ends with exit code 2."""


class ConfError(EvenhandError):
    """A mistake in a study file or in what was set on the command line."""


class DataError(EvenhandError):
    """The data cannot be used as the study asks."""


class CandidateError(DataError):
    """One candidate cannot be fitted; `cause` is why, and it lasts unless it was a trouble of the moment.

    `is_late`: nothing is wrong with it, but the time of the study was over.
    """

    cause = ""
    is_lasting = True
    is_late = False


class ContractError(DataError):
    """New data is not of the form that earlier runs were given."""


class PlaceError(EvenhandError):
    """A folder, database or server that is needed cannot be used."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that was probably meant, or an empty string."""
    names = [str(name) for name in known]
    close = [name for name in names if str(word).lower() in {name.lower(), _initials(name)}]
    close = close or difflib.get_close_matches(str(word), names, n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""


def _initials(name: str) -> str:
    """The first letters of a name's parts: people write rmse for root_mean_squared_error."""
    parts = name.split("_")
    return "".join(part[:1] for part in parts) if len(parts) > 2 else ""


def listed(names: Iterable[object], most: int = 8) -> str:
    """Names in quotes, joined by commas, cut after `most` with a count of the rest."""
    words = [f"'{name}'" for name in names]
    rest = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + rest
