"""Initial orders of features for a strong search, from other criteria.

Forward searches with other penalties select other features: a weak penalty those that fit best
jointly, a strong one those most correlated with the target. Least angle regression is a third
order. The criterion of the search evaluates all resulting subsets.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sparsepath.base.least_angle import lars_entries
from sparsepath.rls.design import Design
from sparsepath.rls.engines import default_memory, make_model
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.search import forward
from sparsepath.system.arrays import Floats

PENALTIES = (1e-4, 1e-2, 1.0)  # as parts of the mean square of a column, times the samples


def starting_orders(
    design: Design, Y: Floats, spec: SearchSpec, sums: SplitSums | None
) -> Iterator[Callable[[], Sequence[int]]]:
    """Return functions that return an order each, the fastest first."""
    if _fits(design, spec):
        yield lambda: least_angle(design, Y, spec)
    scale = float(design.squares[~design.constant].mean()) if not design.constant.all() else 1.0
    for part in PENALTIES:
        yield lambda part=part: forward_order(design, Y, part * scale, spec, sums)  # type: ignore[misc]


def forward_order(
    design: Design, Y: Floats, alpha: float, spec: SearchSpec, sums: SplitSums | None
) -> list[int]:
    """Return the order of entry in a forward search with another penalty."""
    model = make_model(design, Y, alpha, spec, sums)
    trail = SearchTrail()
    trail.begin(model)
    trail.set_out(model)
    forward(model, trail, spec.sets(design.constant))
    return list(model.chosen)


def least_angle(design: Design, Y: Floats, spec: SearchSpec) -> list[int]:
    """Return the order of least angle regression; for several targets, of their first principal
    component.
    """
    live = np.array([i for i in spec.candidates if not design.constant[i]], dtype=np.intp)
    roots = np.sqrt(design.weights)[:, None]
    targets = roots * (Y - np.average(Y, axis=0, weights=design.weights))
    y = targets[:, 0]
    if targets.shape[1] > 1:
        y = targets @ np.linalg.svd(targets, full_matrices=False)[2][0]
    most = min(spec.size, len(live), design.n_counted - 1)
    if not most or not y.any():
        return []
    return live[lars_entries(roots * design.columns(live), y, most)].tolist()


def _fits(design: Design, spec: SearchSpec) -> bool:
    """Return whether a copy of the data fits into memory."""
    if design.streamed:
        return False
    room = default_memory() if spec.memory is None else spec.memory
    return 8 * design.n_samples * design.n_features <= room
