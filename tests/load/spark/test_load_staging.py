"""Storage of results until they are whole, and the message of a run that is stopped."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fakebroker_load.results.folder import clear
from fakebroker_load.spark.staging import Stage
from fakebroker_load.spark.stopping import RunStopped, stoppable

RUN = "run.json"
EARLIER = "Nothing of this run is kept; earlier results in {out} are whole."
KEPT = "What it had recorded until then is whole, and kept: `fakebroker-load verify {out}` judges that."


def nothing_yet(stage: Stage) -> None:
    (stage.folder / "requests.parquet").mkdir()


def the_load_has_ended(stage: Stage) -> None:
    nothing_yet(stage)
    (stage.folder / RUN).write_text("new")


def all_is_whole(stage: Stage) -> None:
    the_load_has_ended(stage)
    stage.install()


def stopped_behind(stage: Stage, work: Callable[[Stage], None]) -> None:
    with stoppable(remains=stage.remains), stage.open():
        work(stage)
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("work", "earlier", "sentence", "left"),
    [
        (nothing_yet, False, "Nothing of this run is kept.", None),
        (nothing_yet, True, EARLIER, "old"),
        (the_load_has_ended, True, EARLIER, "old"),
        (
            the_load_has_ended,
            False,
            KEPT,
            "new",
        ),
        (all_is_whole, False, KEPT, "new"),
        (all_is_whole, True, KEPT, "new"),
    ],
)
def test_a_run_that_is_stopped_says_what_is_whole(
    work: Callable[[Stage], None], earlier: bool, sentence: str, left: str | None, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    if earlier:
        out.mkdir()
        (out / RUN).write_text("old")
    stage = Stage(out, "id", clear, RUN)
    said = f"it was stopped by SIGTERM; what it had set up is taken back. {sentence.format(out=out)}"
    with pytest.raises(RunStopped, match=f"^{re.escape(said)}$"):
        stopped_behind(stage, work)
    assert ((out / RUN).read_text() if (out / RUN).exists() else None) == left
    assert not stage.folder.exists()
