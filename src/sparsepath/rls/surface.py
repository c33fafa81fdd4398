"""Errors for all penalties and sizes, and the choice of a pair."""

import math
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any, NamedTuple

from sparsepath.path import plots
from sparsepath.path.choosing import check_rule, is_size, nearest, worst_allowed
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Axes
from sparsepath.system.frames import Make, make_frame


class Point(NamedTuple):
    """A penalty and a size, and the criterion there."""

    alpha: float
    size: int
    error: float
    error_se: float


class Surface:
    """Criterion for all penalties and sizes.

    Parameters
    ----------
    paths : mapping of float to SelectionPath
        Path of every penalty.

    Examples
    --------
    >>> from sparsepath import Step
    >>> weak = SelectionPath([Step((), 4.0, 0.5), Step((0,), 2.2, 0.4), Step((0, 1), 2.0, 0.3)],
    ...     n_features=2)
    >>> strong = SelectionPath([Step((), 4.0, 0.5), Step((1,), 2.1, 0.4), Step((1, 0), 2.5, 0.3)],
    ...     n_features=2)
    >>> surface = Surface({0.1: weak, 10.0: strong})
    >>> surface.choose("min"), surface.choose("one_se"), surface.choose(2)
    ((0.1, 2), (10.0, 1), (0.1, 2))
    """

    def __init__(self, paths: Mapping[float, SelectionPath]) -> None:
        self.paths = dict(paths)

    @property
    def points(self) -> list[Point]:
        """Return all pairs of penalty and size, in the order of the paths."""
        return list(map(Point._make, self._numbers()))

    def _numbers(self) -> Iterator[tuple[float, int, float, float]]:
        """Return the points as plain tuples, which are fast to create."""
        for alpha, path in self.paths.items():
            errors = path.errors.tolist(), path.errors_se.tolist()
            yield from zip(repeat(alpha), path.sizes, *errors, strict=False)

    def choose(self, rule: Any) -> tuple[float, int]:
        """Return the penalty and the size that a rule selects.

        Parameters
        ----------
        rule : {"min", "one_se"}, int or float
            "min": the minimum error; the smallest size, then the largest penalty, breaks ties.
            "one_se": among all pairs within one standard error of the minimum, the smallest size,
            then the lowest error, then the largest penalty. A float: as "one_se" with (1 + rule)
            times the minimum as the limit. An int: that size, with its best penalty.
        """
        check_rule(rule)
        points = [
            (error, size, -alpha, error_se)
            for alpha, size, error, error_se in self._numbers()
            if error == error  # no NaN
        ]
        limit = math.inf
        if is_size(rule):
            points = [point for point in points if point[1] == rule]
            if not points:  # the path knows what to say
                next(iter(self.paths.values())).step(int(rule))
        else:
            least, _, _, error_se = min(points)
            limit = worst_allowed(rule, least, error_se)
        size, _, alpha = min((size, error, a) for error, size, a, _ in points if error <= limit)
        return -alpha, size

    def settle(self, rule: Any) -> tuple[float, int]:
        """Return the result of ``choose``, with the nearest size if no path has the
        requested one.
        """
        if is_size(rule):
            paths = self.paths.values()
            rule = nearest(
                int(rule),
                [size for path in paths for size in path.sizes],
                max(path.n_features for path in paths),
                quiet=not all(path.complete for path in paths),
            )
        return self.choose(rule)

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row per penalty and size: alpha, size, error, error_se,
        features.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        points = self.points
        columns: dict[str, list[Any]] = {
            name: [getattr(point, name) for point in points] for name in Point._fields
        }
        columns["features"] = [", ".join(self.paths[p.alpha].names(p.size)) for p in points]
        return make_frame(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error against the size, one line per penalty.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
        lines = {f"alpha {alpha:.4g}": path for alpha, path in sorted(self.paths.items())}
        label = next(iter(self.paths.values())).error_label
        return plots.plot_lines({n: (p.sizes, p.errors) for n, p in lines.items()}, label, ax=ax)
