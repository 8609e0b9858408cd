"""Settings of looking after a model that serves: what counts as drift, and where true labels arrive."""

from typing import Annotated

from pydantic import Field

from evenhand._settings_base import Names, Settings, Share
from evenhand._settings_data import Source


class Watch(Settings):
    """From which size on a shift of new rows against the champion's training rows counts as drift."""

    psi: Annotated[float, Field(gt=0)] = Field(0.2, description="population stability index of a column")
    jensen_shannon: Annotated[float, Field(gt=0, lt=1)] = Field(0.05, description="divergence of a column, in bits")
    missing: Share = Field(0.05, description="change of a column's share of missing values")
    unseen: Share = Field(0.05, description="share of values never seen in training, above what was to be expected")
    prior: Annotated[float, Field(gt=1)] = Field(1.5, description="times by which the odds of a class change")


class Feedback(Settings):
    """Where true labels arrive later, and the scored files that they are held against."""

    source: Source = Field(description="the table of keys and true labels")
    scored: Annotated[Names, Field(min_length=1)] = Field(
        description="files that `evenhand score` wrote: a file, a folder, a glob, or a list of them"
    )
    key: Names = Field((), description="columns that name a row in both; left out: columns.key")
    truth: str | None = Field(None, description="the column of the true label; left out: target")
