"""What commands print whatever they judged: thresholds, registers, files written."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from .blindspots import Register
from .matrix import invariance_table, register_table
from .threshold import NOT_A_PROBABILITY, Threshold


def tell_threshold(threshold: Threshold, stale: str) -> None:
    """Print a threshold with what stands behind it."""
    low, high = threshold.interval
    click.echo(
        f"threshold {threshold.value:.4g} for {threshold.false_alarm_rate:.2%} false alarms, from "
        f"{threshold.calibrated_on} held-out normals (realised: {low:.2%} to {high:.2%})"
    )
    click.echo(NOT_A_PROBABILITY)
    if stale:
        click.echo(f"the threshold is stale: {stale}")


def tell_register(register: Register | None, *, whole: bool = False) -> None:
    """Print what the alerts cannot contain: in a sentence, or with all that was measured."""
    if register is None:
        click.echo(
            "What this detector cannot see was not measured; `likewise anomaly register BUNDLE` "
            "measures it."
        )
        return
    click.echo(register.sentence())
    if whole:
        told = f"\n{invariance_table(register).as_text()}\n\n{register_table(register).as_text()}"
        click.echo(told)


def write_answer(answer: pl.DataFrame, out: Path | None) -> None:
    """Write scores where a file was named."""
    if out is None:
        return
    if out.suffix == ".csv":
        answer.write_csv(out)
    else:
        answer.write_parquet(out)
    click.echo(f"{out} written")
