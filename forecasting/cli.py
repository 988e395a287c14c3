"""The ``likewise forecast`` commands."""

from __future__ import annotations

import click


@click.group()
def forecast() -> None:
    """Forecast series by what came before."""
