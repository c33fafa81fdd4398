"""Names of columns that have none, created on access; names as the command line takes them."""

import csv
import io
import operator
import re
import shlex
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

_NUMBERED = re.compile(r"x(0|[1-9][0-9]*)", re.ASCII)


class NumberedNames(Sequence[str]):
    """The sequence ``x{first}``, ``x{first + 1}``, ...; some numbers may be left out.

    Parameters
    ----------
    count : int
        How many there are before any is left out.
    first : int
        The number of the first.
    without : iterable of int
        The numbers that are left out.

    Examples
    --------
    >>> names = NumberedNames(30_000_000, first=1, without=[2])
    >>> len(names), names[0], names[1], names[-1], names.index("x4"), "x2" in names
    (29999999, 'x1', 'x3', 'x30000000', 2, False)
    >>> NumberedNames(2) == ("x0", "x1")
    True
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, count: int, first: int = 0, without: Iterable[int] = ()) -> None:
        self.first = operator.index(first)
        self.stop = self.first + max(operator.index(count), 0)
        self.without = sorted({w for w in without if self.first <= w < self.stop})
        # Place i is past the k-th gap if i is at least the number of names before that gap.
        self._before = [w - self.first - k for k, w in enumerate(self.without)]

    def __len__(self) -> int:
        return self.stop - self.first - len(self.without)

    def number(self, place: int) -> int:
        """Return the number in the name at an index."""
        i = operator.index(place)
        i += len(self) if i < 0 else 0
        if not 0 <= i < len(self):
            raise IndexError(f"there is no name {place} of {len(self)}")
        return self.first + i + bisect_right(self._before, i)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        return f"x{self.number(place)}"

    def __iter__(self) -> Iterator[str]:
        gaps = set(self.without)
        return (f"x{i}" for i in range(self.first, self.stop) if i not in gaps)

    def place(self, name: object) -> int | None:
        """Return the index of a name, or None."""
        found = _NUMBERED.fullmatch(name) if isinstance(name, str) else None
        if found is None or len(found[1]) > 18:
            return None
        i = int(found[1])
        gap = bisect_left(self.without, i)
        if not self.first <= i < self.stop or self.without[gap : gap + 1] == [i]:
            return None
        return i - self.first - gap

    def __contains__(self, name: object) -> bool:
        return self.place(name) is not None

    def index(self, name: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a name."""
        i = self.place(name)
        if i is None or i not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"{name!r} is not among the names")
        return i

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            mine, theirs = (self.first, self.stop, self.without), (other.first, other.stop)
            return mine == (*theirs, other.without) or (
                len(self) == len(other) and all(map(operator.eq, self, other))
            )
        if not isinstance(other, list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    def __repr__(self) -> str:
        shown = [*self] if len(self) <= 6 else [*self[:3], "...", self[-1]]
        return f"<{len(self)} names: {', '.join(shown)}>"

    @property
    def plain(self) -> bool:
        """Return whether the names are ``x0``, ``x1``, ... without gaps."""
        return self.first == 0 and not self.without


def listing(columns: Iterable[str]) -> str:
    r"""Return names for an option such as --drop, in quotes where the shell needs them.

    >>> listing(["a", "height, cm"])
    '\'a,"height, cm"\''
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(columns)
    return shlex.quote(text.getvalue())
