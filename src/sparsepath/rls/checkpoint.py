"""A file that lets a long search go on where it stopped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparsepath.errors import FileError, warn_user
from sparsepath.files import replacing
from sparsepath.rls.trail import SearchTrail
from sparsepath.steps import Move

SECONDS = 2.0  # between two writings
SCHEMA = {"schema": "sparsepath/checkpoint", "schema_version": 2}


class Checkpoint:
    """It holds the moves and what the problem was: what decides the moves, as JSON holds it.

    Going on means making the same moves again, which needs no search, and everything computed from
    there on is the same to the last bit. Rules that are asked after a move are asked again; what a
    test had let in is not tested again. Of data that are read in passes it also holds what the
    passes told: they judge models in company that depends on what is known already.
    """

    def __init__(self, path: str | Path, problem: dict[str, Any], n_features: int) -> None:
        self.path = Path(path)
        self._problem = {**SCHEMA, **problem}
        self._n_features = n_features
        self._written = 0.0
        self._known = 0
        self._failed = False
        self._told: Any = None
        self._known_to: Callable[[], Any] = lambda: None

    def read(self) -> list[Move]:
        """The moves that an earlier run on the same problem has written; none if there is none."""
        if not self.path.is_file():
            self._save([])  # a file that cannot be written is an error now, not hours later
            return []
        try:
            record = json.loads(self.path.read_text("utf-8"))
            moves = [Move(*move) for move in record.pop("moves")]
            self._told = record.pop("told", None)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unreadable() from error
        if record != self._problem:
            raise FileError(
                f"{self.path} belongs to other data or parameters; delete it or name another file."
            )
        self._known = len(moves)
        return moves

    def remind(self, model: Any) -> None:
        """Give a model that knows things of its own what it knew; keep what it gets to know."""
        if not hasattr(model, "recall"):
            return
        if self._told is not None:
            try:
                model.recall(self._told)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise self._unreadable() from error
        self._known_to = model.known

    def write(self, trail: SearchTrail, now: bool = False) -> None:
        """Write the moves so far, unless that was done a moment ago or the file has more.

        A search does not end because its checkpoint cannot be written any more: there is a warning.
        """
        elapsed = trail.seconds
        if len(trail.moves) < self._known or not (now or elapsed - self._written >= SECONDS):
            return
        self._written = elapsed
        try:
            self._save([[m.action, m.feature, m.error, m.seconds] for m in trail.moves])
        except FileError as error:
            if not self._failed:
                warn_user(
                    f"the checkpoint is not up to date: {error} The search goes on without it."
                )
            self._failed = True

    def _save(self, moves: list[list[Any]]) -> None:
        with replacing(self.path) as stream:
            json.dump({**self._problem, "moves": moves, "told": self._known_to()}, stream)

    def check(self, moves: list[Move], start: tuple[int, ...]) -> None:
        """Refuse moves in which columns do not come in before they go out, from a start set."""
        chosen = set(start)
        for move in moves:
            known = isinstance(move.feature, int) and 0 <= move.feature < self._n_features
            if (
                not known
                or move.action not in ("add", "drop")
                or (move.feature in chosen) != (move.action == "drop")
            ):
                raise self._unreadable()
            chosen ^= {move.feature}

    def _unreadable(self) -> FileError:
        return FileError(f"{self.path} is not a readable checkpoint; delete it to start afresh.")
