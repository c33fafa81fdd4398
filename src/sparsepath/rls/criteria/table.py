"""Table of the criteria by name."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sparsepath.errors import InputError
from sparsepath.rls.criteria.counts import Balanced, ZeroOne
from sparsepath.rls.criteria.losses import Criterion, Loss, ResidualLoss
from sparsepath.rls.criteria.pairs import AUC, Disagreement, PairwiseSquared
from sparsepath.rls.criteria.residuals import SQUARED, Absolute, Huber, LogCosh


def _named(*criteria: Criterion) -> dict[str, Criterion]:
    return {criterion.name: criterion for criterion in criteria}


NUMBERS = _named(SQUARED, Absolute(), Huber(), LogCosh())
CLASSES = {**NUMBERS, **_named(ZeroOne(), Balanced(), AUC())}
QUERIES = _named(PairwiseSquared(), Disagreement())


def criterion_of(
    loss: Any, known: Mapping[str, Criterion], others: Iterable[str] = ()
) -> Criterion:
    """Return a criterion by name, or check an object of a known kind.

    ``others`` are losses that an error message names too.

    >>> criterion_of("huber", NUMBERS)
    huber(delta=1.35)
    """
    if isinstance(loss, str) and loss in known:
        return known[loss]
    if isinstance(loss, Criterion):
        return _checked(loss, known)
    hint = "" if known is QUERIES else ", or a ResidualLoss such as Huber(2.0)"
    raise InputError(f"loss={loss!r}; use one of {', '.join([*known, *others])}{hint}.")


def _checked(loss: Criterion, known: Mapping[str, Criterion]) -> Criterion:
    """Return an object of a known kind, or a complete custom loss; raise an error otherwise."""
    if type(loss) in map(type, known.values()):
        return loss
    lacks = ""
    if not isinstance(loss, Loss) or known is QUERIES:
        lacks = f"support for this model, whose criteria are {', '.join(known)}"
    elif loss.coded and known is NUMBERS:
        lacks = "support for regression: it is coded, for classification"
    elif not loss.name:
        lacks = "a name"
    elif loss.bounded or loss.by_sums:
        lacks = "bounds and sums of its own; bounded and by_sums are only for the squared loss"
    elif isinstance(loss, ResidualLoss):
        lacks = _missing(loss)
    if lacks:
        raise InputError(f"the loss {type(loss).__name__} lacks {lacks}.")
    return loss


def _missing(loss: ResidualLoss) -> str:
    """Describe what is wrong with the results of a custom ``of``; empty if nothing."""
    e = np.array([[-2.0, -1.0, 0.0], [0.5, 1.0, 4.0]])
    cost = np.asarray(loss.of(e.copy()), dtype=np.float64)
    if cost.shape != e.shape:
        return f"a cost for each residual: of() made shape {cost.shape} of shape {e.shape}"
    if not np.isfinite(cost).all():
        return "finite costs: of() made NaN or infinity of residuals from -2 to 4"
    return ""
