"""Standard streams: messages, JSON documents, lists of files, a progress bar; data from stdin."""

import atexit
import json
import re
import shutil
import sys
import tempfile
import textwrap
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sparsepath.errors import InputError

if TYPE_CHECKING:
    from sparsepath.path.selection_path import SelectionPath

BAR_AFTER = 1.0  # seconds
STDIN, PREFIX = "stdin", "sparsepath-"  # what it is called, and the folder of its copy
STDIN_COPY = re.compile(rf"[^\s'\"]*{PREFIX}\w+[/\\]stdin\.csv")


def say(message: str) -> None:
    """Print one message; lines stay whole if nobody looks at a terminal."""
    message = naming_stdin(message)
    if sys.stderr.isatty():
        width = max(shutil.get_terminal_size().columns, 20)
        message = textwrap.fill(message, width, break_on_hyphens=False, break_long_words=False)
    print(message, file=sys.stderr, flush=True)


def naming_stdin(text: str) -> str:
    """Return a text with the name of stdin in place of that of its temporary copy."""
    return STDIN_COPY.sub(STDIN, text)


def data_file(data: Path) -> Path:
    """Return the input file; for "-", a temporary copy of stdin."""
    if str(data) != "-":
        return data
    if sys.stdin is None:
        raise InputError("- reads the data from stdin, which is closed; name a file.")
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with (folder / "stdin.csv").open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    return folder / "stdin.csv"


def print_document(kind: str, **values: Any) -> None:
    """Print one JSON document; docs/json.md describes its keys."""
    document = {"schema": f"sparsepath/{kind}", "schema_version": 1, **values}
    print(json.dumps(document, allow_nan=False))


def list_files(files: Mapping[str, Path], about: Mapping[str, str], verbose: bool = False) -> None:
    """What was written where, in one line; ``verbose``: what each file is."""
    if not files:
        return
    if not verbose:
        folder = next(iter(files.values())).parent
        print(f"\nWritten to {folder}: {', '.join(files)}.")
        return
    print("\nWritten:")
    width = max(len(str(file)) for file in files.values())
    for name, file in files.items():
        print(f"  {file!s:{width}}  {about[name]}")


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """A progress bar on stderr, shown after a second if that is a terminal.

    ``total`` are the sizes that one of ``searches``, one per penalty, goes through, or how often it
    calls, if that is known. For the unit "features" it is the size of the path, which may
    go down (``backward``), of any other by the number of calls.
    """

    def __init__(
        self,
        total: int | None,
        searches: int,
        *,
        unit: str,
        backward: bool,
        quiet: bool,
        what: str = "searching",
    ) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self.total, self.searches, self.backward = total, searches, backward
        self.unit, self.what = unit, what
        self.folds = 0  # parts that will be left out after the search
        self._left_out = 0
        self._seen: dict[Any, int] = {}
        self._bar: Any = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if self.shown:
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(bar_width=15),  # in all less than 80 columns
                progress.MofNCompleteColumn(),
                progress.TextColumn("{task.fields[unit]},"),
                progress.TimeRemainingColumn(),
                progress.TextColumn("left; Ctrl-C keeps the path"),
                console=Console(stderr=True),
                transient=True,
            )
            total = None if self.total is None else self.total * self.searches
            self._task = self._bar.add_task(self.what, total=total, unit=self.unit)
            self._timer = threading.Timer(BAR_AFTER, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def __deepcopy__(self, memo: object) -> "ProgressBar":
        """Copies of an estimator have the same callback."""
        return self

    def callback(self, path: "SelectionPath") -> None:
        """Callback for the estimator: after every move or step, and before every held-out part."""
        if path.complete:
            self.what, self.unit = "validating", "folds"
            self.count(self._left_out, max(self.folds, self._left_out + 1))
            self._left_out += 1
            return
        key = path.parameters.get("alpha")
        if self.unit != "features":
            reached = self._seen.get(key, 0) + 1
        elif self.backward and self.total is not None:
            reached = self.total - path.sizes[0]
        else:
            reached = path.sizes[-1]
        self._seen[key] = reached
        self._bar.update(self._task, completed=sum(self._seen.values()))

    def count(self, done: int, of: int) -> None:
        """Callback for a known number of repetitions."""
        if self._bar is not None:
            told = {"description": self.what, "unit": self.unit}
            self._bar.update(self._task, completed=done, total=of, **told)
