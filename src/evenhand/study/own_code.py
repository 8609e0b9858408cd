"""Code of a user's own: a module in the folder of the study file is found when the study names a class in it."""

import sys
from pathlib import Path

from evenhand.errors import ConfError
from evenhand.study.study import Study


def find_beside(study: Study, file: Path) -> None:
    """Let modules in the folder of a study file be imported, after everything that is installed."""
    folder = file.absolute().parent
    roots = {path.partition(".")[0] for path in paths_named(study)}
    beside = [root for root in sorted(roots) if (folder / f"{root}.py").is_file() or (folder / root).is_dir()]
    for root in beside:
        loaded = getattr(sys.modules.get(root), "__file__", None)
        if loaded is not None and not Path(loaded).is_relative_to(folder):
            raise ConfError(
                f"the study '{file}' names the module '{root}', which lies beside it, but this process has loaded "
                f"another of that name from '{loaded}'. Rename one of them, or run the studies one by one."
            )
    if beside and str(folder) not in sys.path:
        sys.path.append(str(folder))


def paths_named(study: Study) -> list[str]:
    """The dotted paths to classes and functions that a study names."""
    models = [candidate.model or name for name, candidate in study.candidates.items()]
    steps = [
        word
        for each in study.encodings.values()
        for word in (each.numeric.scale, each.numeric.bins, each.categorical.group, each.text.words, each.as_)
    ]
    steered = study.ensemble.metric if study.ensemble is not None else None
    return [name for name in (*models, *steps, steered) if name and "." in name]
