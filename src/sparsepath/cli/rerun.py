"""Run files: what was asked of which data, written beside every result, to be asked again."""

import hashlib
import json
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparsepath.errors import FileError

RUN = "run.toml"
ABOUT = "what was run on which data; sparsepath run repeats it"
SCHEMA = {"schema": "sparsepath/run", "schema_version": 1}
_typed: list[str] = []


def note(arguments: Sequence[str]) -> None:
    """Keep what was typed, for the run file."""
    _typed[:] = map(str, arguments)


def written(data: Path | None, outcome: Any) -> bytes:
    """The run file of the command that is running, on the data that it read.

    ``outcome`` are plain values that tell one result from another.
    """
    from sparsepath import __version__

    record: dict[str, Any] = {
        **SCHEMA,
        "sparsepath": __version__,
        "directory": os.getcwd(),
        "command": list(_typed),
        "result": hashlib.sha256(json.dumps(outcome).encode()).hexdigest(),
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in record.items()]
    if data is not None and data.is_file():
        lines += ["", "[data]", f"file = {json.dumps(str(data))}", f'sha256 = "{_mark(data)}"']
    return ("\n".join(lines) + "\n").encode()


def _mark(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load(file: Path) -> dict[str, Any]:
    """A run file."""
    try:
        record = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"cannot read {file}: it is damaged, or no TOML ({error}).") from error
    command = record.get("command")
    if record.get("schema") != SCHEMA["schema"] or not isinstance(command, list) or not command:
        raise FileError(f"{file} is no run file; sparsepath select --out DIR writes one, {RUN}.")
    if record.get("schema_version") != SCHEMA["schema_version"]:
        raise FileError(f"{file} is of another version of sparsepath; use that one.")
    return record


def again(file: Path, anyway: bool, start: Any) -> tuple[list[str], bool]:
    """Run it again by ``start``, where it was run: the command, and if the result is the same."""
    record = load(file)
    command = [str(argument) for argument in record["command"]]
    if command[0] == "run":
        raise FileError(f"{file} runs itself; it was changed.")
    where = Path(str(record.get("directory", ".")))
    here = where if where.is_dir() else Path.cwd()
    data = record.get("data", {})
    if data and not anyway:
        known = here / str(data["file"])
        if not known.is_file():
            raise FileError(f"{known}, which the run read, is not there.")
        if _mark(known) != data["sha256"]:
            raise FileError(
                f"{known} is not what it was when {file} was written; --anyway runs it all the "
                "same."
            )
    before = Path.cwd()
    target = file.resolve()
    os.chdir(here)
    try:
        note(command)
        start(command)
        now = load(target)["result"]
    finally:
        os.chdir(before)
    return command, now == record["result"]
