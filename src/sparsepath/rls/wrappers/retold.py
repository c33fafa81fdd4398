"""A model whose changes one model chooses, and whose numbers another tells."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.rls.leave_one_out.fused import Fused
from sparsepath.rls.leave_one_out.model import State
from sparsepath.rls.leave_one_out.swaps import SWAP_PRICE, Chain
from sparsepath.rls.update import Update
from sparsepath.rls.wrappers.wrapped import Wrapped


class Retold(Wrapped[Fused | State]):
    """A model that can be searched, with numbers that follow from its moves alone.

    They are those of a search at once that makes the same moves (``leave_one_out/swaps.py``), for
    the compiled loop of which the time is put by that goes by here; ``form`` is that of such a
    search, and why.
    """

    def __init__(self, model: Fused | State, chain: Chain, form: str) -> None:
        super().__init__(model)
        self.form, self._chain, self._since = form, chain, time.perf_counter()
        (self._now,) = chain.standing([0])
        self.error, self.empty_error = self._now.error, self._now.empty_error

    error: float = np.nan
    empty_error: float = np.nan

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best single addition or removal."""
        return self.model.find_best_update(action, features, below)

    def may_exchange(self, feature: int, others: Callable[[], Iterable[int]], below: float) -> bool:
        """Whether dropping a feature and adding another may do."""
        return self.model.may_exchange(feature, others, below)

    def apply_update(self, update: Update) -> None:
        """Make a change."""
        self.model.apply_update(update)
        if update.action == "add":
            self._chain.add([update.feature])
        else:
            self._chain.drop(update.feature)
        (self._now,) = self._chain.standing([len(self.chosen)])
        self.error, now = self._now.error, time.perf_counter()
        SWAP_PRICE.spent += now - self._since
        self._since = now

    def standard_error(self) -> float:
        """Standard error of the criterion."""
        return self._now.standard_error()

    def coef(self) -> Floats:
        """Coefficients of the chosen columns."""
        return self._now.coef()

    def intercept(self) -> Floats:
        """The constant term."""
        return self._now.intercept()

    def duplicate(self) -> Any:
        """A copy to try changes on, with numbers of its own."""
        return self.model.duplicate()
