"""Options for Spark and for the duration of a run, which several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def absolute(text: str | Path) -> Path:
    """Return the absolute path of a folder, as executors have another working directory. Links are not resolved: a
    shared folder may be a link that differs between machines."""
    if not str(text):
        raise typer.BadParameter("'' is not the name of a folder.")
    return Path(text).absolute()


Master = Annotated[str | None, typer.Option(help="Spark master.", show_default="local, one task per core")]
Tasks = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="How many tasks run at the same time.", show_default="all slots there are"),
]
Wait = Annotated[float, typer.Option(min=0, metavar="SECONDS", help="How long executors may take to come.")]
Conf = Annotated[
    list[str] | None, typer.Option("--spark-conf", metavar="KEY=VALUE", help="A setting of Spark; may be given again.")
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        min=0.001, metavar="SECONDS", help="Then it ends, takes back what it set up, and says so.", show_default="none"
    ),
]
