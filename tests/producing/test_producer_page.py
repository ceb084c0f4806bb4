"""The example of the producer in docs/python.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = [
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "AsyncProducer" in block
    ]
    exec(compile(block, str(PAGE), "exec"), {"__name__": "example"})
    assert re.fullmatch(
        r"RecordMetadata\(partition=TopicPartition\(topic='orders', partition=\d+\), offset=0\)\n",
        capsys.readouterr().out,
    )
