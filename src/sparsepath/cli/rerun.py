"""Run files: command and data of every result, so that the run can be repeated."""

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsepath.errors import FileError, InputError
from sparsepath.system.files import is_file
from sparsepath.system.json_files import check

RUN = "run.toml"
ABOUT = "what was run on which data; sparsepath run repeats it"
SCHEMA = {"schema": "sparsepath/run", "schema_version": 1}
RUN_SCHEMA = {
    "schema": str,
    "schema_version": int,
    "sparsepath": str,
    "directory": str,
    "command": [str],
    "result": str,
    "python?": [str],
    "data?": {"file": str, "sha256": str},
}
REPEATED = ("select", "compare", "demo")  # the commands that leave a run file
LOCAL = "local"  # a Dask cluster that the command starts itself
_typed: list[str] = []


def note(arguments: Sequence[str]) -> None:
    """Keep what was typed, for the run file."""
    _typed[:] = map(str, arguments)


def run_file(data: Path | None, outcome: Any, code: Sequence[str] = ()) -> bytes:
    """Return the run file of the current command and its data.

    ``outcome`` are plain values that distinguish results; ``code`` are lines of Python that give
    the same result.
    """
    from sparsepath import __version__

    record: dict[str, Any] = {
        **SCHEMA,
        "sparsepath": __version__,
        "directory": os.getcwd(),
        "command": list(_typed),
        "result": hashlib.sha256(json.dumps(outcome).encode()).hexdigest(),
    }
    if code:
        record["python"] = list(code)
    lines = [f"{name} = {json.dumps(value)}" for name, value in record.items()]
    if data is not None and data.is_file():
        lines += ["", "[data]", f"file = {json.dumps(str(data))}", f'sha256 = "{_mark(data)}"']
    return ("\n".join(lines) + "\n").encode()


def _mark(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load(file: Path) -> dict[str, Any]:
    """Load a run file."""
    try:
        record = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"cannot read {file}: it is not valid TOML ({error}).") from error
    if record.get("schema") != SCHEMA["schema"]:
        raise FileError(f"{file} is not a run file; sparsepath select --out DIR writes one, {RUN}.")
    if record.get("schema_version") != SCHEMA["schema_version"]:
        raise FileError(f"{file} was written by another version of sparsepath; use that version.")
    try:
        check(record, RUN_SCHEMA, "it")
    except InputError as error:
        raise FileError(f"{file} is damaged: {error}") from error
    return record


def again(
    file: Path, commands: Mapping[str, Any], out: Path | None, dask: str | None, anyway: bool
) -> tuple[list[str], bool]:
    """Run it again where it was run: the command, and whether the result is the same.

    A run file may come from anybody. So only commands that leave one are run, from ``commands``, by
    name; nothing is written but to the folder of the file, or to ``out``; and no scheduler that the
    file names is connected to, since a scheduler can have any code run.
    """
    record = load(file)
    command = record["command"]
    if not command or command[0] not in REPEATED:
        raise FileError(f"{file} is damaged: its command must be {', '.join(REPEATED)}.")
    folder = (file.parent if out is None else out).resolve()
    if out is None and not any((folder / name).is_file() for name in ("path.json", "compare.json")):
        raise FileError(f"{file} is not next to a result; name an output folder with --out.")
    where = Path(record["directory"])
    here = where if os.path.isdir(where) and os.access(where, os.X_OK) else Path.cwd()
    data = record.get("data")
    if data is not None and not anyway:
        _check_data(file, here / data["file"], data["sha256"])
    before = Path.cwd()
    os.chdir(here)
    try:
        note(command)
        job = commands[command[0]]
        with job.make_context(command[0], command[1:]) as context:
            if context.params.get("dask") not in (None, LOCAL) and dask is None:
                raise FileError(
                    f"{file} names a Dask cluster; a scheduler can run any code on this machine, "
                    "so name it with --dask if you trust it, or use --dask local."
                )
            # A search that goes on from a checkpoint would repeat nothing.
            changed: dict[str, Any] = {"out": folder, "checkpoint": None, "resume": False}
            changed |= {} if dask is None else {"dask": dask}
            context.params |= {k: v for k, v in changed.items() if k in context.params}
            job.invoke(context)
    finally:
        os.chdir(before)
    return command, load(folder / RUN)["result"] == record["result"]


def _check_data(file: Path, data: Path, expected: str) -> None:
    if not is_file(data):
        raise FileError(f"{data}, the input of the run, does not exist.")
    if _mark(data) != expected:
        raise FileError(f"{data} has changed since {file} was written; add --anyway to run it.")
