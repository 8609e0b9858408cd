"""The study that comes with the program, to see it work before there is a study of one's own."""

from importlib.resources import files
from pathlib import Path

from evenhand.errors import PlaceError

NAME = "quickstart.yaml"


def quickstart() -> str:
    """The text of the quick start's study file: what was installed, else that of the checkout."""
    installed = Path(str(files("evenhand")))
    places = (installed / "conf" / NAME, installed.parents[1] / "conf" / NAME)
    for place in places:
        if place.is_file():
            return place.read_text(encoding="utf-8")
    raise PlaceError(
        f"the study of the quick start is neither '{places[0]}' nor '{places[1]}': the package was installed without "
        "it. Install it from a wheel, or name a study of your own: evenhand run conf/NAME.yaml."
    )
