"""A result folder that is damaged, by machine: each file in each way. The commands say which file it is, with status 3,
before Spark starts; no verdict comes of it, and no traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from load_results import result_folder
from support import doses

from fakebroker_load import cli
from fakebroker_load.results.folder import RECORDED, RUN_FILE
from fakebroker_load.results.manifest import FORMAT, seal

# What a verdict is made of; verdict.json is read by `compare` alone, and nothing reads the report.
FILES = (
    *("manifest.json", "run.json", "requests.parquet/part-0.parquet", "requests.parquet/part-1.parquet"),
    *("log.parquet/part-0.parquet", "partitions.parquet/part-0.parquet", "journal.parquet/part-0.parquet"),
)
COMMANDS = ("verify", "report", "compare")


class SparkStarted(Exception):
    """The exception of a check that finds nothing: Spark would start."""


class Bench:
    """A whole folder, the folder of another run, and a copy to be damaged."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.whole = result_folder(folder / "whole", "one")
        self.other = result_folder(folder / "other", "two")
        self.copy = folder / "copy"
        self._capsys = capsys

    def fresh(self) -> Path:
        shutil.rmtree(self.copy, ignore_errors=True)
        return shutil.copytree(self.whole, self.copy)

    def status(self, command: str) -> tuple[int | None, str]:
        """Return the exit status for the copy, and what was printed; None where judging would begin."""
        folders = [self.copy, self.whole] if command == "compare" else [self.copy]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["fakebroker-load", command, *map(str, folders)])
            patch.setattr(cli, "start_spark", started)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        said = self._capsys.readouterr()
        if SparkStarted.__name__ in said.err:
            return None, said.err
        assert isinstance(ended.value.code, int)
        return ended.value.code, said.err

    def check_refused(self, name: str, what: object, command: str = "verify") -> str:
        status, said = self.status(command)
        assert (status, said.count("\n")) == (3, 1), (what, status, said)
        assert said.startswith(f"fakebroker-load: The results in {self.copy} cannot be used: "), (what, said)
        assert name in said, (what, said)
        assert "Traceback" not in said
        return said


def started(*_: object, **__: object) -> None:
    raise SparkStarted


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def test_what_is_whole_is_judged(bench: Bench) -> None:
    bench.fresh()
    assert [bench.status(command)[0] for command in COMMANDS] == [None, None, 0]


# Damage: the file, the same file of another run, and a source of chance.
Damage = Callable[[Path, Path, Random], object]


def truncated(path: Path, other: Path, random: Random) -> None:
    path.write_bytes(path.read_bytes()[: random.randrange(path.stat().st_size)])


def flipped(path: Path, other: Path, random: Random) -> None:
    data = bytearray(path.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)


def a_folder(path: Path, other: Path, random: Random) -> None:
    path.unlink()
    path.mkdir()


def a_link(path: Path, other: Path, random: Random) -> None:
    path.unlink()
    path.symlink_to("nothing")


def lengthened(path: Path, other: Path, random: Random) -> None:
    path.write_bytes(path.read_bytes() + b" ")


DAMAGES: dict[str, Damage] = {
    "deleted": lambda path, other, random: path.unlink(),
    "emptied": lambda path, other, random: path.write_bytes(b""),
    "truncated": truncated,
    "a bit flipped": flipped,
    "lengthened": lengthened,
    "replaced by another run's": lambda path, other, random: shutil.copy(other, path),
    "made a folder": a_folder,
    "a link to nothing": a_link,
}


@pytest.mark.parametrize("seed", doses.nightly_after(1, range(100)))
def test_each_file_damaged_in_each_way_is_named(bench: Bench, seed: int) -> None:
    random = Random(seed)
    for name in FILES:
        for what, damage in DAMAGES.items():
            copy = bench.fresh()
            damage(copy / name, bench.other / name, random)
            bench.check_refused(name, (name, what, seed))


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_reads_results_refuses_them(bench: Bench, command: str) -> None:
    for name in (*FILES, *(["verdict.json"] if command == "compare" else [])):
        copy = bench.fresh()
        flipped(copy / name, bench.other / name, Random(7))
        bench.check_refused(name, (name, command), command)


def test_what_is_added_is_named(bench: Bench) -> None:
    """Spark and pandas read each file of a folder, so an added file would be read."""
    for parquet in RECORDED:
        for name in ("more.parquet", ".part-0.parquet.crc", "_temporary/0/part-7.parquet", "notes.txt"):
            path = bench.fresh() / parquet / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(bench.whole / FILES[2], path)
            bench.check_refused(f"{parquet}/{name}", path)


def test_a_folder_that_is_gone_as_a_whole_is_named(bench: Bench) -> None:
    for parquet in RECORDED:
        shutil.rmtree(bench.fresh() / parquet)
        bench.check_refused(f"{parquet}/part-0.parquet is missing", parquet)


def test_strangers_beside_the_results_do_no_harm(bench: Bench) -> None:
    copy = bench.fresh()
    (copy / "thesis.tex").write_text("mine")
    (copy / "report.html").unlink()
    assert bench.status("verify")[0] is None


def test_a_folder_without_a_manifest_is_of_an_earlier_release(bench: Bench) -> None:
    (bench.fresh() / "manifest.json").unlink()
    said = bench.check_refused("manifest.json is missing", "older")
    assert "an earlier release wrote none, and its results have to be made again" in said


def resealed(copy: Path) -> None:
    """Write the manifest again for the present files."""
    (copy / "manifest.json").unlink()
    seal(copy)


def test_another_format_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = bench.fresh()
    monkeypatch.setattr("fakebroker_load.results.manifest.FORMAT", FORMAT + 1)
    resealed(copy)
    monkeypatch.undo()
    bench.check_refused(f"manifest.json has format {FORMAT + 1}, and this release reads {FORMAT}", "format")


# Another release may write another schema, in a folder that is whole.
def changed(copy: Path, parquet: str, change: Callable[[pa.Table], pa.Table]) -> None:
    for path in (copy / parquet).iterdir():
        pq.write_table(change(pq.ParquetFile(path).read()), path)


COLUMNS = [(name, at) for name, schema in RECORDED.items() for at in range(len(schema))]
FIRSTS = [(name, 0) for name in RECORDED]


@pytest.mark.parametrize(("parquet", "at"), doses.nightly_but(FIRSTS, COLUMNS))
def test_each_column_that_lacks_or_is_of_another_type_is_named(bench: Bench, parquet: str, at: int) -> None:
    field = RECORDED[parquet].field(at)
    copy = bench.fresh()
    changed(copy, parquet, lambda table: table.drop_columns([field.name]))
    resealed(copy)
    said = bench.check_refused(f"{parquet} lacks the column {field.name}", field)
    assert said.endswith("; 0.1 (compiled) wrote it.\n")

    copy = bench.fresh()
    other = pa.repeat(pa.scalar(b"?", pa.binary()), 3)
    changed(copy, parquet, lambda table: table.set_column(at, field.name, other))
    resealed(copy)
    bench.check_refused(f"the column {field.name} of {parquet} is binary, and this release reads", field)


@pytest.mark.parametrize("parquet", RECORDED)
def test_a_column_that_is_not_known_is_named(bench: Bench, parquet: str) -> None:
    copy = bench.fresh()
    changed(copy, parquet, lambda table: table.append_column("mood", pa.array(["good"] * len(table))))
    resealed(copy)
    bench.check_refused(f"{parquet} has the column mood, which this release does not know", parquet)


def test_a_run_json_of_another_release_is_named(bench: Bench) -> None:
    """test_load_run_file.py has the values that a field of run.json may have."""
    copy = bench.fresh()
    runs = json.loads((copy / RUN_FILE).read_text())
    (copy / RUN_FILE).write_text(json.dumps([runs[0] | {"seed": "one"}]))
    resealed(copy)
    said = bench.check_refused(RUN_FILE, "seed")
    assert "run.json is not as this release writes it (Expected `int`, got `str` - at `$[0].seed`)" in said
