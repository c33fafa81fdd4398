"""The six problems of the ELM-FS paper, and the store of finished parts of its experiment."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sparsepath
from paper_sets import load
from sparsepath.data.synthetic import functional, xor_like


@dataclass(frozen=True)
class Split:
    """Training and test data; features are counted from 1, as in the paper."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    names: list[str]


def artificial(make: Callable[..., Any]) -> Callable[[int], Split]:
    def split(seed: int) -> Split:
        p = make(10_000, random_state=seed)
        names = [str(i + 1) for i in range(p.X.shape[1])]
        return Split(p.X[:1000], p.y[:1000], p.X[1000:], p.y[1000:], names)

    return split


def real(name: str) -> Callable[[int], Split]:
    """70 % to train, drawn by the seed; Santa Fe: its first 1000 rows. Targets are standardised."""

    def split(seed: int) -> Split:
        data = load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y, float)
        if name.startswith("poland"):
            X, y = X[data.split == "train"], y[data.split == "train"]
        if name.startswith("santafe"):
            train, test = np.arange(1000), np.arange(1000, len(y))
        else:
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.split(order, [round(0.7 * len(y))])
        y = (y - y[train].mean()) / y[train].std()
        return Split(X[train], y[train], X[test], y[test], list(data.names))

    return split


@dataclass(frozen=True)
class Problem:
    key: str
    title: str
    figure: str
    split: Callable[[int], Split]
    quick_size: int | None  # the largest subset of a default run; None: all
    claims_size: int | None = None  # the largest subset when claims are counted
    climbs: int = 100  # of MI-FWBW, at most
    rivals: bool = False  # whether rivals are run over seeds too


PROBLEMS = [
    Problem("xor", "XOR-like", "5", artificial(xor_like), None),
    Problem("functional", "Functional", "6", artificial(functional), None),
    Problem("diabetes", "Diabetes", "7", real("diabetes"), None),
    Problem("poland", "Poland electricity", "8", real("poland_electricity_lag30"), 8, 7, 20, True),
    Problem("santafe", "Santa Fe laser", "9", real("santafe_laser_lag12"), 8, 4, rivals=True),
    Problem("anthrokids", "Anthrokids (a reconstruction)", "10-12", real("anthrokids"), 9, 9, 20),
]


def called(subset: Any) -> str:
    """Columns counted from 1, ascending, as the paper names them; long sets are cut."""
    text = ", ".join(str(i + 1) for i in sorted(subset)[:10])
    return "{" + text + ("...}" if len(subset) > 10 else "}")


class Parts:
    """Finished parts of a run, one file each, so that a run that was ended can go on.

    A part is taken from its file only if the code of the methods is what it was. Once ``minutes``
    are over no part is begun: those that are missing are None.
    """

    def __init__(self, folder: Path | None, minutes: float) -> None:
        self.folder, self.until = folder, time.monotonic() + 60 * minutes
        package = Path(sparsepath.__file__).parent
        files = sorted([*package.glob("elm/*.py"), *package.glob("information/*.py")])
        digest = hashlib.blake2b(digest_size=8)
        for file in files:
            digest.update(file.read_bytes())
        self.code = digest.hexdigest()
        self.known: dict[str, Any] = {}  # parts of this run, as text

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """A part, made now or before."""
        if name in self.known:
            return json.loads(self.known[name])
        file = self.folder / f"{name}.json" if self.folder else None
        if file and file.exists():
            stored = json.loads(file.read_text(encoding="utf-8"))
            if stored["code"] == self.code:
                return stored["value"]
        if time.monotonic() > self.until:
            return None
        start = time.perf_counter()
        self.known[name] = json.dumps(make())
        value = json.loads(self.known[name])
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"code": self.code, "value": value}), encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        return value
