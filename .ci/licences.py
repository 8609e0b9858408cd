"""The licences of everything that the lock installs. usage: make licences"""

from importlib.metadata import Distribution, distributions

import click


def licence_of(found: Distribution) -> str:
    """What a distribution says of its licence: expression, classifiers, or the first line of the text."""
    told = found.metadata
    kinds = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or [] if line.startswith("License ::")]
    text = (told.get("License") or "").strip().splitlines()
    return told.get("License-Expression") or "; ".join(kinds) or (text[0] if text else "unknown")


if __name__ == "__main__":
    for each in sorted(distributions(), key=lambda found: found.metadata["Name"].lower()):
        click.echo(f"{each.metadata['Name']:<40} {each.version:<16} {licence_of(each)}")
