"""Orders of features that a strong search begins with, beside those of its own criterion.

Under other penalties a forward search takes other ways: a weak one takes what fits best together, a
strong one what goes with the target by itself. Least angle regression weighs the features that
come in together. None of them decides anything: the sets are judged by the criterion of the search.
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
    """Functions that give an order each, the quickest first."""
    if _fits(design, spec):
        yield lambda: least_angle(design, Y, spec)
    scale = float(design.squares[~design.constant].mean()) if not design.constant.all() else 1.0
    for part in PENALTIES:
        yield lambda part=part: forward_order(design, Y, part * scale, spec, sums)  # type: ignore[misc]


def forward_order(
    design: Design, Y: Floats, alpha: float, spec: SearchSpec, sums: SplitSums | None
) -> list[int]:
    """The order in which features enter a forward search under another penalty."""
    model = make_model(design, Y, alpha, spec, sums)
    trail = SearchTrail()
    trail.begin(model)
    trail.set_out(model)
    forward(model, trail, spec.sets(design.constant))
    return list(model.chosen)


def least_angle(design: Design, Y: Floats, spec: SearchSpec) -> list[int]:
    """The order of least angle regression; of several targets, on what they have most in common."""
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
    """Whether there is room for a copy of the data."""
    if design.streamed:
        return False
    room = default_memory() if spec.memory is None else spec.memory
    return 8 * design.n_samples * design.n_features <= room
