"""The value of `serve`'s `--fault`: a fault or a preset, in JSON or YAML, as in scenario files."""

from __future__ import annotations

from fakebroker.commands.command_line import Slip
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import Preset, read_preset
from fakebroker.yaml_places import BadYaml, YamlNotInstalled, read

_EXAMPLE = "'{when: {api: Produce}, do: disconnect}'"


def parse_fault(text: str) -> Fault | Preset:
    """Read {"when": ..., "do": ..., "times": ...}, or {"preset": NAME, ...}; YAML needs no quotes. Raises Slip."""
    try:
        said = read(text).value
    except YamlNotInstalled as error:
        raise Slip(f"--fault: {error}") from None
    except BadYaml as error:
        raise Slip(f"--fault {text!r}: {error}, as in {_EXAMPLE}") from None
    if not isinstance(said, dict):
        raise Slip(f"--fault {text!r} is not a mapping, as in {_EXAMPLE}")
    try:
        return read_preset(said) if "preset" in said else Fault.from_json(said)
    except ValueError as error:
        raise Slip(f"--fault {text!r}: {error}") from None
