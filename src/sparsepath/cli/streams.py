"""What comes in by stdin, and what goes out by stdout and stderr."""

import atexit
import json
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def say(message: str) -> None:
    """Print one message; lines stay whole if nobody looks at a terminal."""
    if sys.stderr.isatty():
        width = max(shutil.get_terminal_size().columns, 20)
        message = textwrap.fill(message, width, break_on_hyphens=False, break_long_words=False)
    print(message, file=sys.stderr, flush=True)


def taken(data: Path) -> Path:
    """The file itself; for - a copy of what comes on stdin, until the program ends."""
    if str(data) != "-":
        return data
    folder = Path(tempfile.mkdtemp(prefix="sparsepath-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with (folder / "stdin.csv").open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return folder / "stdin.csv"


def print_document(kind: str, **values: Any) -> None:
    """One JSON document; docs/json.md has its keys."""
    document = {"schema": f"sparsepath/{kind}", "schema_version": 1, **values}
    print(json.dumps(document, allow_nan=False))


def list_files(files: Mapping[str, Path], about: Mapping[str, str]) -> None:
    """What was written where, and what it is."""
    if files:
        print("\nWritten:")
    width = max((len(str(file)) for file in files.values()), default=0)
    for name, file in files.items():
        print(f"  {file!s:{width}}  {about[name]}")
