"""A week in the life of a model that keeps itself up to date, in about a minute: `make week`.

Payments are made up day by day in the folder `week/`: quiet days, a day without new rows, and from Thursday on a new
way to pay by which fraud looks another way. Every morning's tick decides by itself; two commands are typed by hand.
"""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import numpy as np
import pandas as pd

FOLDER = Path("week")
MONDAY = datetime(2026, 3, 2, 6, tzinfo=UTC)
CONF = """\
# Payments of a made-up shop; the folder grows by a file a day.
name: payments
source: {path: payments}
target: is_fraud
positive: 1
columns: {key: payment, categorical: [channel, country]}
# Rows keep their side by their key when more come, so champion and challenger share rows that neither was trained on.
split: {holdout: hash, holdout_share: 0.3, folds: 3}
encodings:
  standard: {numeric: {scale: standard}}
candidates:
  logistic: {params: {C: 1.0}}
  boosting: {params: {max_iter: 40}}
metric: roc_auc
gate: {metric: roc_auc, margin: 0.005, horizon: 52}
guards: {average_precision: 0.05}
schedule: {cron: "0 6 * * *", grace: 2h}
"""


def payments(day: int, n_rows: int, seed: int, *, with_wallet: bool = False) -> pd.DataFrame:
    """The payments of a day; fraud is in large amounts from young accounts, and by wallet in small ones at night."""
    draw = np.random.default_rng(seed)
    channel = draw.choice(["card", "transfer", "wallet"], n_rows, p=[0.4, 0.15, 0.45] if with_wallet else [0.7, 0.3, 0])
    by_wallet = channel == "wallet"
    amount = draw.lognormal(3.5, 1.0, n_rows) * np.where(by_wallet, 0.4, 1.0)
    hour, age = draw.integers(0, 24, n_rows), draw.exponential(400, n_rows).round()
    at_night = (hour < 6).astype(float)
    usual = -4.6 + 0.9 * np.log(amount / 30) - 0.6 * np.log1p(age / 100) + 0.3 * at_night
    odds = np.where(by_wallet, -4.0 - 0.9 * np.log(amount / 12) + 2.5 * at_night, usual + 1.2)
    return pd.DataFrame(
        {
            "payment": [f"{day}-{k:05}" for k in range(n_rows)],
            "amount": amount.round(2),
            "hour": hour,
            "account_days": age,
            "channel": channel,
            "country": draw.choice(["DE", "FR", "PL", "IT"], n_rows, p=[0.5, 0.2, 0.2, 0.1]),
            "is_fraud": (draw.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int),
        }
    )


def arrive(day: int, n_rows: int, **kind: bool) -> Path:
    """Put the rows of a day into the folder that the study reads."""
    file = Path("payments") / f"{(MONDAY + timedelta(days=day)):%Y-%m-%d}.csv"
    payments(day, n_rows, seed=day, **kind).to_csv(file, index=False)
    return file


def tick(day: int) -> None:
    """What the schedule does at six in the morning of a day."""
    from evenhand.api.launch import run_tick

    as_of = MONDAY + timedelta(days=day)
    found = run_tick("payments.yaml", as_of, because="backfill", promotes=True)
    tell(f"tick of {as_of:%A %H:%M}: {found.outcome}: {found.why}")


def typed(command: str) -> None:
    """A command of `evenhand` as a person types it."""
    from evenhand.cli.main import main

    click.secho(f"$ evenhand {command}", fg="cyan")
    import shlex

    main.main(shlex.split(command), standalone_mode=False)


def heading(words: str) -> None:
    click.secho(f"\n{words}", bold=True)


def tell(words: str) -> None:
    click.echo(f"  {words}")


def live() -> None:
    """The week from Monday to Sunday."""
    heading("Monday: 12,000 payments of the past are there; the first model is trained and serves")
    arrive(0, 12_000)
    tick(0)
    heading("Tuesday: nothing new has come")
    tick(1)
    heading("Wednesday: 1,500 payments like the ones before")
    arrive(2, 1_500)
    tick(2)
    heading("Thursday: the shop takes wallets; new rows are looked at before anything is trained on them")
    file = arrive(3, 6_000, with_wallet=True)
    typed(f"watch payments.yaml {file}")
    heading("Friday: the tick has learned of wallets")
    arrive(4, 6_000, with_wallet=True)
    tick(4)
    heading("Saturday: somebody has doubts and goes back, which stays in the ledger")
    typed("champion rollback payments --why 'wallet rules are under review'")
    heading("Sunday: what became of the week")
    typed("champion history payments")
    typed("show payments --history")


def main() -> None:
    """Live the week in a folder of its own, which is made anew."""
    from evenhand.service.prefect_session import be_quiet

    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "payments").mkdir(parents=True)
    os.chdir(FOLDER)
    Path("payments.yaml").write_text(CONF, encoding="utf-8")
    be_quiet()
    live()
    heading(f"look: cd {FOLDER} && evenhand ui, evenhand report payments, evenhand status")


if __name__ == "__main__":
    main()
