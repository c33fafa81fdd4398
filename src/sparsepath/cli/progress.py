"""A progress bar on a terminal, for work that takes more than a moment."""

import sys
import threading
from contextlib import AbstractContextManager
from typing import Any, Self

from sparsepath.path import SelectionPath

BAR_AFTER = 1.0


class Watch(AbstractContextManager["Watch"]):
    """Shows how far a search is, on stderr, if that is a terminal and after a second.

    ``total`` are the sizes that one of ``searches``, one per penalty, goes through, or how often it
    calls, if that is known. Of the unit "features" it is told by the sizes of its path, which may
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
                progress.TextColumn(f"{self.unit},"),
                progress.TimeRemainingColumn(),
                progress.TextColumn("left; Ctrl-C keeps the path"),
                console=Console(stderr=True),
                transient=True,
            )
            total = None if self.total is None else self.total * self.searches
            self._task = self._bar.add_task(self.what, total=total)
            self._timer = threading.Timer(BAR_AFTER, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def callback(self, path: SelectionPath) -> None:
        """What the estimator calls after every move, or step."""
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
        """What is called where the number of repetitions is known."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=of)
