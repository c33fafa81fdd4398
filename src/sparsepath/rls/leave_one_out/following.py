r"""The quantities s, c, b and t of ``model.py`` for every feature, followed change by change.

They all follow from t = X'Z, which gains a column per addition and turns with Z at a removal.
``form="pass"`` takes the new column of t, and X'u if that is wanted too, in one pass over X per
step. ``form="gram"`` takes it from the Gram matrix X'X, whose columns are computed when they are
needed, for a batch of the most hopeful features at once. A batch takes the time of about
``BATCH_PASSES`` passes, however wide X is, and saves a pass for each of its features that is chosen
later. ``form="auto"`` begins that way and goes over to passes when more was spent on batches than
passes would have cost by now. If so many steps are to come that batches would come to half of the
columns, ``gram_columns`` for each, it takes all columns at once: by symmetry they take the time
of half of them. With sparse data a batch saves nothing, so it takes passes.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.fitted import Change, Fitted, triangular
from sparsepath.tuning import TUNING

BATCH_PASSES = 6  # passes over X that take as long as a batch of columns of the Gram matrix
GRAM_OVER_DATA = 0.1  # size of all columns of the Gram matrix, over that of the data, at most
STEEP_GRAM = 1e4  # |x| / sqrt(pivot) above which the Gram matrix is not exact enough for x


class Follower:
    """Follows a fitted model: s, c, b2 and t, the letters of ``model.py``, of every feature.

    Parameters
    ----------
    form : {"pass", "gram", "auto"}
        Where the products with the newest column of Z come from.
    steps : int
        How many features are to be added, as far as is known.
    """

    hopeful: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def __init__(self, form: str, steps: int = 0) -> None:
        self.form, self.steps = form, steps
        self._seen: int | None = None
        self._batches = 0
        self._by_passes = False  # whether t is made of passes over X with single vectors

    @property
    def t(self) -> Floats:
        return self._t[:, : self._size]

    def _uses_gram(self, fitted: Fitted) -> bool:
        """Whether the next step goes by the Gram matrix: the cost model of the first lines."""
        if self.form == "auto" and fitted.design.sparse:
            return False
        if self.form == "auto" and fitted.design.has_whole_gram:
            return True
        spent = BATCH_PASSES * self._batches
        return self.form == "gram" or (
            self.form == "auto" and spent <= len(fitted.history) + TUNING.gram_credit
        )

    def prepare(self, design: Design) -> None:
        """Compute all columns of the Gram matrix if they pay, and fit beside the data."""
        n, pay = design.n_features, 2 * TUNING.gram_columns * self.steps
        fit = max(TUNING.gram_always, GRAM_OVER_DATA * design.n_samples * n)
        small = n <= pay and n**2 * (len(design.blocks) + 1) <= fit
        if self.form == "auto" and not design.sparse and small:
            design.fill_gram()

    def _follow(self, fitted: Fitted, gu: Floats, with_u: bool) -> Floats | None:
        """Bring s, c, t and b2 up to date; return X'u, in the same pass if there is one."""
        changes = None if self._seen is None else fitted.history[self._seen :]
        self._seen = len(fitted.history)
        if changes is None or len(changes) > 1:
            self._restart(fitted)
        elif changes and changes[0].action == "add":
            Xu = self._extend(fitted, changes[0].feature, with_u)
            if Xu is not None:
                return Xu
        elif changes:
            self._rotate(fitted, changes[0])
        if not with_u:
            return None
        return centred(fitted, fitted.sum(Rows.products, 0, True), gu)

    def _extend(self, fitted: Fitted, feature: int, with_u: bool) -> Floats | None:
        """A feature was added: a new column of t, and everything else by rank one."""
        design = fitted.design
        t_b, root = fitted.R[:-1, -1], fitted.R[-1, -1]
        Xu = None
        if self._uses_gram(fitted) and design.sizes[feature] <= STEEP_GRAM * root:
            self._batches += not design.knows_gram(feature)
            self._by_passes = False
            new = (design.gram_column(feature, self.hopeful) - self.t @ t_b) / root
        else:
            sums, products = zip(*fitted.each(Rows.newest, with_u), strict=True)
            both = centred(fitted, added(products), added(sums))
            new, Xu = both[:, 0], both[:, 1:] if with_u else None
            self._by_passes &= not with_u  # two products at once are summed in another way
        k = len(t_b)
        if k:
            R = fitted.R[:k, :k]
            b_b = triangular(R, t_b)
            cross = self.t @ triangular(R, b_b, transposed=True)
        else:
            b_b = cross = np.zeros(1)
        share = new / root
        self.b2: Floats = np.maximum(self.b2 + share * (share * (1 + b_b @ b_b) - 2 * cross), 0.0)
        self.s -= new**2
        self.c -= np.outer(new, fitted.a[-1])
        if k == self._t.shape[1]:
            self._t: Floats = np.asfortranarray(np.hstack([self._t, np.zeros_like(self._t)]))
        self._t[:, k] = new
        self._size = k + 1
        return Xu

    def _rotate(self, fitted: Fitted, change: Change) -> None:
        """A feature was dropped: t turns with Z, and its last column goes back into s and c."""
        assert change.Q is not None
        assert change.released is not None
        self._by_passes = False
        turned = self.t @ change.Q
        self._size -= 1
        self._t[:, : self._size] = turned[:, :-1]
        self.turned = turned[:, -1]
        self.s += self.turned**2
        self.c += np.outer(self.turned, change.released)
        self._refresh(fitted)

    def _restart(self, fitted: Fitted) -> None:
        """Everything afresh, from one pass over X."""
        design = fitted.design
        self._size = k = len(fitted.chosen)
        self._by_passes = not k
        sums, Xr = map(added, zip(*fitted.each(Rows.correlations), strict=True))
        self.c: Floats = centred(fitted, Xr, sums)
        self._t = np.zeros((design.n_features, max(8, k)), order="F")
        if k:
            sums, Xz = map(added, zip(*fitted.each(Rows.every_product), strict=True))
            self._t[:, :k] = centred(fitted, Xz, sums)
        self.s: Floats = design.squares - np.einsum("ij,ij->i", self.t, self.t)
        self._refresh(fitted)

    def _refresh(self, fitted: Fitted) -> None:
        self.b2 = np.square(fitted.solve(self.t.T)).sum(0)
        self.collinear = fitted.design.constant.copy()


def centred(
    fitted: Fitted, products: Floats, sums: Floats, features: NDArray[np.intp] | slice = slice(None)
) -> Floats:
    """Products of vectors with the columns as they stand, from those with the raw data."""
    design = fitted.design
    return design.scales[features, None] * (products - np.outer(design.means[features], sums))
