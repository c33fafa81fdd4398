r"""Exact medians of columns that are read in passes.

The bits of a float64 are mapped to integers in the order of the numbers (``keys``). A pass counts
the next ``BITS`` bits of the values that begin like the median, and thus determines these bits.
When few values are left, they are collected. Memory does not depend on the number of rows: about
three passes for a million rows, four for a thousand million, six if all bits are needed.

For an even number of values the median is the mean of two. If the upper one begins differently, it
is the smallest of the larger values, which the last pass finds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.sources import Answer, Joined, Source
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import Crew

BITS = 12
WIDTH = 64
COLLECTED = 4096  # values that are collected rather than counted
AT_A_TIME = 512  # columns whose counts are kept at once

Keys = NDArray[np.uint64]


def keys(values: Floats) -> Keys:
    """Return integers in the order of the values, which must not be NaN.

    >>> values = np.array([-np.inf, -2.5, -0.0, 0.0, 1e-300, 3.0])
    >>> np.argsort(keys(values), kind="stable").tolist(), numbers(keys(values)).tolist()
    ([0, 1, 2, 3, 4, 5], [-inf, -2.5, 0.0, 0.0, 1e-300, 3.0])
    """
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    top = np.uint64(1 << (WIDTH - 1))
    return np.where(bits & top, ~bits, bits | top)


def numbers(given: Keys) -> Floats:
    """Return the values of keys."""
    top = np.uint64(1 << (WIDTH - 1))
    return np.where(given & top, given ^ top, ~given).view(np.float64)


@dataclass(frozen=True)
class MedianSearch:
    """State of the search for the lower middle value of a column.

    ``below`` values are smaller than all candidates, ``inside`` is the number of candidates: values
    with the bits of ``first`` above the lowest ``left``.
    """

    count: int
    below: int
    inside: int
    first: int
    left: int

    @property
    def last(self) -> int:
        """Largest key of a candidate."""
        return self.first + (1 << self.left) - 1

    @property
    def is_narrow(self) -> bool:
        return self.inside <= COLLECTED or not self.left

    def narrowed(self, counts: NDArray[np.int64]) -> "MedianSearch":
        """Return the state with the next bits known; ``counts`` has the frequency of each."""
        ends = self.below + np.cumsum(counts)
        place = int(np.searchsorted(ends, (self.count - 1) // 2, side="right"))
        left = max(0, self.left - BITS)
        below, inside = int(ends[place] - counts[place]), int(counts[place])
        return MedianSearch(self.count, below, inside, self.first + (place << left), left)


def _together(one: list[Keys], other: list[Keys]) -> list[Keys]:
    """Combine the values of some columns; keep the minimum of the last array (larger values)."""
    pairs = list(zip(one, other, strict=True))
    return [*map(np.concatenate, pairs[:-1]), np.minimum(*pairs[-1])]


def _there(part: Any, names: tuple[str, ...]) -> Any:
    """Yield the keys of present values by column, one slab at a time."""
    for cells, _ in part.cells(names):
        yield [keys(column.values[~np.isnan(column.values)]) for column in cells]


def count_values(part: Any, names: tuple[str, ...]) -> Answer:
    """Return the numbers of present and missing values of some columns."""
    found = np.zeros((len(names), 2), dtype=np.int64)
    for cells, _ in part.cells(names):
        for pair, column in zip(found, cells, strict=True):
            gone = int(np.isnan(column.values).sum())
            pair += len(column.values) - gone, gone
    return [found]


def next_bits(part: Any, names: tuple[str, ...], known: tuple[MedianSearch, ...]) -> Answer:
    """Return the frequencies of the next bits among the candidates."""
    found = np.zeros((len(names), 1 << BITS), dtype=np.int64)
    for columns in _there(part, names):
        for counts, values, search in zip(found, columns, known, strict=True):
            off = values - np.uint64(search.first)  # those below turn round, and are large
            inside = off[off <= np.uint64(search.last - search.first)]
            shift = np.uint64(max(0, search.left - BITS))
            counts += np.bincount((inside >> shift).astype(np.intp), minlength=len(counts))
    return [found]


def collect_candidates(
    part: Any, names: tuple[str, ...], known: tuple[MedianSearch, ...]
) -> Answer:
    """Return the candidates, unless they are all equal, and the smallest larger value."""
    total: list[Keys] | None = None
    for columns in _there(part, names):
        values, beyond = [], np.full(len(names), np.iinfo(np.uint64).max)
        for i, (of, search) in enumerate(zip(columns, known, strict=True)):
            inside = (of >= np.uint64(search.first)) & (of <= np.uint64(search.last))
            values.append(of[inside] if search.left else of[:0])
            beyond[i] = of[of > np.uint64(search.last)].min(initial=beyond[i])
        slab = [*values, beyond]
        total = slab if total is None else _together(total, slab)
    return [Joined(total, _together)]


def middle_values(
    source: Source, crew: Crew, names: tuple[str, ...]
) -> dict[str, tuple[Floats, int]]:
    """Return the two middle values of numeric columns (equal for odd counts) and missing counts.

    A column without values has none.
    """
    found: dict[str, tuple[Floats, int]] = {}
    for low in range(0, len(names), AT_A_TIME):
        found |= _middle(source, crew, names[low : low + AT_A_TIME])
    return found


def _middle(source: Source, crew: Crew, names: tuple[str, ...]) -> dict[str, tuple[Floats, int]]:
    def ask(message: Any, which: tuple[str, ...], *args: Any) -> Any:
        return source.asked(crew, len(which), message, which, *args)[0]

    totals = dict(zip(names, ask(count_values, names).tolist(), strict=True))
    known = {
        name: MedianSearch(there, 0, there, 0, WIDTH)
        for name, (there, _) in totals.items()
        if there
    }
    while wide := tuple(name for name, search in known.items() if not search.is_narrow):
        counts = ask(next_bits, wide, tuple(known[name] for name in wide))
        known |= {n: known[n].narrowed(bits) for n, bits in zip(wide, counts, strict=True)}
    found = {name: (np.zeros(0), missing) for name, (_, missing) in totals.items()}
    if known:
        *each, least = ask(collect_candidates, tuple(known), tuple(known.values())).value
        for (name, search), values, beyond in zip(known.items(), each, least, strict=True):
            found[name] = _pair(search, values, beyond), totals[name][1]
    return found


def _pair(search: MedianSearch, values: Keys, beyond: Any) -> Floats:
    """Return the two middle values."""
    ranks = [(search.count - 1) // 2 - search.below, search.count // 2 - search.below]
    inside = np.sort(values)

    def at(rank: int) -> int:
        if rank >= search.inside:
            return int(beyond)
        return int(inside[rank]) if search.left else search.first

    return numbers(np.array([at(rank) for rank in ranks], dtype=np.uint64))
