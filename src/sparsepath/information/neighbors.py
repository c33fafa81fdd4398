"""Choose k by the largest separation of a feature's information from shuffled copies.

After Verleysen, Rossi and François (2009), reference 24 of Frénay et al. (2012). The mutual
information of each feature with the target is estimated without each fold, and also for permuted
values of the feature, for which the true value is zero. For each k the two sets of estimates are
compared by a t statistic, the difference of means divided by the root of the sum of variances. The
k with the largest separation over the features is chosen; the smallest k wins ties.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from sparsepath._core import neighbors as core
from sparsepath.information.tables import Codes, most_neighbors, shares
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

# Up to a tenth of the samples, but 20 at least and 100 at most: on the electricity data of Frénay
# et al. (959 samples) k = 51 is chosen, which gives the seven features of the paper; k = 16, the
# best up to 20, does not.
FEWEST_TRIED, MOST_TRIED = 20, 100
FOLDS_OF_RESAMPLING = 10


@dataclass(frozen=True, eq=False)
class NeighborChoice:
    """The number of neighbours chosen, and how well each number separates."""

    n_neighbors: int
    separation: Floats  # for 1, 2, ... neighbours: the largest over the features


def choose_neighbors(
    XT: Floats,
    YT: Floats,
    threads: Threads,
    random: np.random.Generator,
    most: int | None = None,
    folds: int = FOLDS_OF_RESAMPLING,
) -> NeighborChoice:
    """Choose k between 1 and ``most`` by resampling; features and targets are rows."""
    d, n = XT.shape
    most = most or min(max(n // 10, FEWEST_TRIED), MOST_TRIED)
    folds = min(folds, n // 2)
    fold = random.permutation(np.arange(n) % folds)
    shuffled = np.stack([random.permutation(row) for row in XT])
    most = min(most, int(np.count_nonzero(fold != 0)) - 1)

    def estimates(row: Floats, left_out: int) -> Floats:
        kept = fold != left_out
        part, target = row[None, kept], np.ascontiguousarray(YT[:, kept])
        m = part.shape[1]
        psi = np.concatenate([[np.nan], digamma(np.arange(1, m + 2))])
        out = np.empty((most, m))
        core.Neighbors(target, psi, most, 1).every_k(part, out)
        x, y = Codes.rows(part), Codes.rows(target)
        out[: max(most_neighbors(x, y), 0)] = shares(x, y) - psi[m]
        return out.mean(1) + digamma(m)

    tasks = [(rows, i, f) for rows in (XT, shuffled) for i in range(d) for f in range(folds)]
    found = np.array(threads.map(lambda task: estimates(task[0][task[1]], task[2]), tasks))
    observed, null = found.reshape(2, d, folds, most)
    spread = np.sqrt(observed.var(1, ddof=1) + null.var(1, ddof=1))
    gap = observed.mean(1) - null.mean(1)
    separation = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0).max(0)
    return NeighborChoice(int(np.argmax(separation)) + 1, separation)
