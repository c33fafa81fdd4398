"""Checkpoint file from which a long search resumes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparsepath.errors import FileError, InputError, warn_user
from sparsepath.path.steps import Move
from sparsepath.rls.history import SearchTrail
from sparsepath.system.files import is_file, replacing
from sparsepath.system.json_files import canonical, check, checksum, parse

SECONDS = 2.0  # between two writings
INTERVAL = "SPARSEPATH_CHECKPOINT_SECONDS"  # the variable that sets another interval
SCHEMA = {"schema": "sparsepath/checkpoint", "schema_version": 3}
INFINITE = {"inf", "-inf", "nan"}  # how JSON holds what is not finite
MOVE_SCHEMA = [
    {"action": {"add", "drop"}, "feature": int, "error": (float, INFINITE), "seconds": float}
]


class Checkpoint:
    """A checkpoint: the moves, and the parameters that determine them.

    Resuming repeats the same moves without searching, so results are bit-identical. Stopping rules
    are evaluated again after each move; additions that passed a test are not tested again. For data
    read in passes, the checkpoint also contains the results of the passes, because rounding depends
    on which candidates were evaluated together. A checkpoint can only be read by the version that
    wrote it; a checksum detects changes.
    """

    def __init__(self, path: str | Path, problem: dict[str, Any], n_features: int) -> None:
        self.path = Path(path)
        self._problem = _plain({**SCHEMA, **problem})
        self._n_features = n_features
        self._interval = _interval()
        self._written = 0.0
        self._known = 0
        self._failed = False
        self._told: Any = None
        self._known_to: Callable[[], Any] = lambda: None

    def read(self) -> list[Move]:
        """Return the moves of an earlier run on the same problem; none if there is no file."""
        if not is_file(self.path):
            self._save([])  # a file that cannot be written is an error now, not hours later
            return []
        try:
            record = parse(self.path.read_bytes())
        except OSError as error:
            raise FileError(f"cannot read {self.path}: {error.strerror or error}.") from error
        except InputError as error:
            raise self._unreadable(str(error)) from error
        if not isinstance(record, dict) or record.get("schema") != SCHEMA["schema"]:
            raise self._unreadable("it is not a checkpoint.")
        if record.get("schema_version") != SCHEMA["schema_version"]:
            raise self._unreadable("another version of sparsepath wrote it.")
        if record.pop("checksum", None) != checksum(canonical(record)):
            raise self._unreadable("it was changed after it was written.")
        moves, self._told = record.pop("moves", None), _numbers(record.pop("told", None))
        if record != self._problem:
            raise FileError(
                f"{self.path} belongs to other data or parameters; delete it or name another file."
            )
        try:
            check(moves, MOVE_SCHEMA, "moves")
        except InputError as error:
            raise self._unreadable(str(error)) from error
        self._known = len(moves)
        return [Move(**{**move, "error": float(move["error"])}) for move in moves]

    def remind(self, model: Any) -> None:
        """Restore the state of a model from the checkpoint, and record its later state."""
        if not hasattr(model, "recall"):
            return
        if self._told is not None:
            try:
                model.recall(self._told)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise self._unreadable("what the passes found is damaged.") from error
        self._known_to = model.known

    def write(self, trail: SearchTrail, now: bool = False) -> None:
        """Write the moves so far, unless the last write is recent or the file has more moves.

        If the file cannot be written, the search continues with a warning.
        """
        elapsed = trail.seconds
        if len(trail.moves) < self._known or not (now or elapsed - self._written >= self._interval):
            return
        self._written = elapsed
        try:
            self._save([vars(move) for move in trail.moves])
        except FileError as error:
            if not self._failed:
                warn_user(
                    f"the checkpoint is out of date: {error} The search continues without it."
                )
            self._failed = True

    def _save(self, moves: list[dict[str, Any]]) -> None:
        content = _plain({"moves": moves, "told": self._known_to()})
        record = {**self._problem, **content}
        with replacing(self.path) as stream:
            stream.write(canonical({**record, "checksum": checksum(canonical(record))}))

    def check(self, moves: list[Move], start: tuple[int, ...]) -> None:
        """Raise an error for inconsistent moves (a column removed before it was added)."""
        chosen = set(start)
        for move in moves:
            known = 0 <= move.feature < self._n_features
            if not known or (move.feature in chosen) != (move.action == "drop"):
                raise self._unreadable("its moves do not follow from each other.")
            chosen ^= {move.feature}

    def _unreadable(self, why: str) -> FileError:
        return FileError(
            f"{self.path} is not a readable checkpoint: {why} Name another file, or delete this "
            "one to start over."
        )


def _interval() -> float:
    """Return the seconds between two writes; 0 writes after every move."""
    given = os.environ.get(INTERVAL, "")
    try:
        seconds = float(given) if given else SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"{INTERVAL}={given[:40]!r}; set it to a number of seconds from 0 up.")
    return seconds


def _numbers(value: Any) -> Any:
    """Return the numbers from which ``_plain`` was created."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and value in INFINITE else value


def _plain(value: Any) -> Any:
    """Return JSON values that preserve all bits; infinities and NaN by name."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return repr(float(value))
    return value
