"""Settings of looking after a model that serves: what counts as drift, where labels arrive, who is notified."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from evenhand.study.data import Source
from evenhand.study.setting_types import Names, Settings, Share, listed_as


class Watch(Settings):
    """From which size on a shift of new rows against the champion's training rows counts as drift."""

    psi: Annotated[float, Field(gt=0)] = Field(0.2, description="population stability index of a column")
    jensen_shannon: Annotated[float, Field(gt=0, lt=1)] = Field(0.05, description="divergence of a column, in bits")
    missing: Share = Field(0.05, description="change of a column's share of missing values")
    unseen: Share = Field(0.05, description="share of values never seen in training, above what was to be expected")
    prior: Annotated[float, Field(gt=1)] = Field(1.5, description="times by which the odds of a class change")


class Feedback(Settings):
    """Where true labels arrive later, and the scored files that they are joined with."""

    source: Source = Field(description="the table of keys and true labels")
    scored: Annotated[Names, Field(min_length=1)] = Field(
        description="files that `evenhand score` wrote: a file, a folder, a glob, or a list of them"
    )
    key: Names = Field((), description="columns that name a row in both; left out: columns.key")
    truth: str | None = Field(None, description="the column of the true label; left out: target")


class Email(Settings):
    """A mailbox that is written to through an SMTP server; name secrets as `${NAME}`."""

    to: Annotated[Names, Field(min_length=1)] = Field(description="who gets the messages")
    host: str = Field(description="the SMTP server")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(587, description="of the SMTP server")
    sender: str = Field("evenhand@localhost", alias="from", description="the address that messages come from")
    user: str | None = Field(None, description="who logs in")
    password: str | None = Field(None, description="of the user; name it as ${NAME}")
    security: Literal["starttls", "tls", "none"] = Field("starttls", description="how the connection is secured")

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("user and password go together: give both, or leave both out")
        if self.password is not None and "${" not in self.password:
            raise ValueError("a password must not stand in the file: write ${NAME} and export that variable")
        return self


Occasion = Literal["failure", "promotion", "drift", "skips", "silence"]
OCCASIONS: tuple[Occasion, ...] = ("failure", "promotion", "drift", "skips", "silence")


class Notify(Settings):
    """Who is notified of what: a webhook that takes JSON (Slack's too), an e-mail, or both."""

    webhook: str | None = Field(None, description="an address that JSON is posted to, such as ${SLACK_WEBHOOK}")
    email: Email | None = Field(None, description="left out: no e-mail is sent")
    events: Annotated[tuple[Occasion, ...], Field(min_length=1), listed_as(Occasion)] = Field(
        OCCASIONS, description="what is reported"
    )
    skips: Annotated[int, Field(ge=1)] = Field(3, description="ticks skipped in a row that are worth a message")

    @model_validator(mode="after")
    def _some_way(self) -> Self:
        if self.webhook is None and self.email is None:
            raise ValueError("say how: webhook: ${NAME}, or email: {to: ..., host: ...}")
        return self
