"""The manifest of a result folder: results with damaged, missing or additional files are not judged.

Shape    `manifest.json` has `format`; `runs`, by scenario, with the command and the versions of each; `columns`, by
         Parquet folder, name and type; `files`, by path within the folder, with bytes, SHA-256 and, for Parquet, rows;
         and `sha256`, a digest of the manifest itself.
Theory   `seal` lists the files whenever run.json or a verdict is written, and computes each digest once. `check`
         compares before Spark starts. It looks at run.json and at the Parquet folders that run.json claims: a verdict
         is made of these, and its own files are made again. A file that is not listed is refused as well, because Spark
         reads each file of a folder. Names that begin with "_" or "." are Hadoop's. `seal` removes them, as its own
         digests replace their checksums.
Errors   DamagedResults
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fakebroker_load.results.folder import (
    JUDGED,
    MANIFEST_FILE,
    PARQUET,
    RECORDED,
    RUN_FILE,
    VERDICT_FILE,
    ResultsError,
    read_runs,
    recorded_of,
)
from fakebroker_load.results.run_file import complaint_of

FORMAT = 1
VERSIONS = ("fakebroker", "python", "spark", "java", "system")  # of a run's `machine`


class DamagedResults(Exception):
    """A result folder is not complete; the message names the file, for the user."""

    def __init__(self, folder: Path, what: str) -> None:
        super().__init__(f"The results in {folder} cannot be used: {what}.")


def write_runs(out: Path, runs: list[dict[str, Any]]) -> None:
    (out / RUN_FILE).write_text(json.dumps(runs, indent=1) + "\n")
    seal(out)


def seal(folder: Path) -> None:
    """Write the manifest of the files that exist now. Listed files are not read again, except those of a verdict.
    Raises DamagedResults if there is a manifest that cannot be read."""
    before = _read(folder) if (folder / MANIFEST_FILE).exists() else {"files": {}, "columns": {}}
    runs = read_runs(folder)
    files: dict[str, Any] = {RUN_FILE: _entry(folder / RUN_FILE)}
    columns: dict[str, dict[str, str]] = {}
    claimed = recorded_of(runs)
    for path in sorted(chain.from_iterable(_whole_files(folder / name) for name in (*claimed, *JUDGED))):
        name, parquet = path.relative_to(folder).as_posix(), path.relative_to(folder).parts[0]
        is_known = name in before["files"] and parquet in claimed
        with pq.ParquetFile(path) as file:
            files[name] = before["files"][name] if is_known else _entry(path) | {"rows": file.metadata.num_rows}
            own = columns_of(file.schema_arrow)
        if columns.setdefault(parquet, own) != own:
            raise DamagedResults(folder, f"{name} has other columns than the files beside it")
    for name in before["files"]:
        if name.partition("/")[0] in claimed:
            files.setdefault(name, before["files"][name])  # it was removed, so `check` reports it as missing
    if (folder / VERDICT_FILE).exists():
        files[VERDICT_FILE] = _entry(folder / VERDICT_FILE)
    manifest = {
        "format": FORMAT,
        "runs": {run["scenario"]["name"]: _command(run) for run in runs},
        "columns": columns,
        "files": files,
    }
    unfinished = folder / f".{MANIFEST_FILE}"
    unfinished.write_text(_render(manifest))
    unfinished.replace(folder / MANIFEST_FILE)


def check(folder: Path, others: Collection[str] = ()) -> None:
    """Check the files of the runs, and `others`, before anything is judged. Raises DamagedResults, and ResultsError if
    there are no results at all."""
    if not any((folder / name).exists() for name in (MANIFEST_FILE, RUN_FILE, PARQUET)):
        raise ResultsError(f"The folder {folder} holds no results of a run ({RUN_FILE} is missing).")
    if not (folder / MANIFEST_FILE).exists():
        raise DamagedResults(
            folder, f"{MANIFEST_FILE} is missing; an earlier release wrote none, and its results have to be made again"
        )
    manifest = _read(folder)
    _check_file(folder, RUN_FILE, manifest["files"])
    if complaint := complaint_of((folder / RUN_FILE).read_bytes()):
        raise DamagedResults(folder, f"{RUN_FILE} is not as this release writes it ({complaint})")
    claimed = recorded_of(read_runs(folder))
    listed = [name for name in manifest["files"] if name.partition("/")[0] in claimed]
    for name in [*listed, *others]:
        _check_file(folder, name, manifest["files"])
    for name in claimed:
        for path in sorted((folder / name).rglob("*")):
            file_name = path.relative_to(folder).as_posix()
            if file_name not in manifest["files"] and not path.is_dir():
                raise DamagedResults(folder, f"{file_name} is there, and {MANIFEST_FILE} does not list it")
        _check_columns(folder, name, manifest)


def columns_of(schema: pa.Schema) -> dict[str, str]:
    """Return the columns and their types, in words that do not depend on the writer of the file."""
    return {field.name: type_name(field.type) for field in schema}


def type_name(type_: pa.DataType) -> str:
    if pa.types.is_list(type_):
        return f"list<{type_name(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{field.name}: {type_name(field.type)}' for field in type_)}>"
    return str(type_)


def _whole_files(folder: Path) -> Iterator[Path]:
    """Return the Parquet files that are complete. The journal's file is not, while its run lasts."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith(("_", ".")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            continue
        try:
            pq.read_metadata(path)
        except pa.ArrowInvalid:
            continue
        yield path


def _entry(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _command(run: Mapping[str, Any]) -> dict[str, Any]:
    machine = run.get("machine", {})
    return {
        "run_id": run.get("run_id"),
        "command": run.get("command"),
        "versions": {name: machine[name] for name in VERSIONS if name in machine},
    }


def _render(manifest: Mapping[str, Any]) -> str:
    text = json.dumps(manifest, indent=1)
    return json.dumps({**manifest, "sha256": hashlib.sha256(text.encode()).hexdigest()}, indent=1) + "\n"


def _read(folder: Path) -> dict[str, Any]:
    """Return the content of the manifest. Raises DamagedResults if a single byte differs."""
    try:
        text = (folder / MANIFEST_FILE).read_bytes()
        content: dict[str, Any] = json.loads(text)
        is_ours = content["format"] == FORMAT
        is_whole = _render({name: content[name] for name in content if name != "sha256"}).encode() == text
    except OSError as error:
        raise DamagedResults(folder, f"{MANIFEST_FILE} cannot be read ({error.strerror})") from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise DamagedResults(folder, f"{MANIFEST_FILE} is damaged") from None
    if not is_whole:
        raise DamagedResults(folder, f"{MANIFEST_FILE} is damaged")
    if not is_ours:
        raise DamagedResults(folder, f"{MANIFEST_FILE} has format {content['format']}, and this release reads {FORMAT}")
    return content


def _check_file(folder: Path, name: str, files: Mapping[str, Any]) -> None:
    path = folder / name
    if name not in files:
        raise DamagedResults(folder, f"{MANIFEST_FILE} does not list {name}")
    try:
        if not path.is_file():
            raise DamagedResults(folder, f"{name} is {'no file' if os.path.lexists(path) else 'missing'}")
        entry = _entry(path)
    except OSError as error:
        raise DamagedResults(folder, f"{name} cannot be read ({error.strerror})") from None
    listed = files[name]
    if entry["bytes"] != listed["bytes"]:
        raise DamagedResults(
            folder, f"{name} has {entry['bytes']:,} bytes, and {MANIFEST_FILE} lists {listed['bytes']:,}"
        )
    if entry["sha256"] != listed["sha256"]:
        raise DamagedResults(folder, f"{name} is not the file that {MANIFEST_FILE} lists: its SHA-256 differs")


def _check_columns(folder: Path, name: str, manifest: Mapping[str, Any]) -> None:
    """Raise DamagedResults if a column is missing, has another type, or is unknown to this release."""
    listed, own = manifest["columns"].get(name, {}), columns_of(RECORDED[name])
    if not listed:
        raise DamagedResults(folder, f"{name} is missing")
    writers = sorted({run["versions"].get("fakebroker", "an unknown release") for run in manifest["runs"].values()})
    by = f"; {', '.join(writers)} wrote it"
    for column in [*own, *listed]:
        if column not in listed:
            raise DamagedResults(folder, f"{name} lacks the column {column}{by}")
        if column not in own:
            raise DamagedResults(folder, f"{name} has the column {column}, which this release does not know{by}")
        if listed[column] != own[column]:
            what = f"the column {column} of {name} is {listed[column]}, and this release reads {own[column]}"
            raise DamagedResults(folder, what + by)
