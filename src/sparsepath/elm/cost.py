"""What a search will take, told before it begins.

Nearly all of its time goes into networks: outputs of the neurons, their products, the leave-one-out
error. So the search is counted in networks of all neurons on all samples, small ones by their part,
and one such network is timed on numbers drawn at random. The counts are those of measured searches,
good to a factor of two; a search that ends early, because nothing is gained, takes less.
"""

import time

import numpy as np

from sparsepath.elm.network import Pool, Target, draw_neurons
from sparsepath.elm.search import ACTIVE, RestartPlan

PER_RESTART, PER_ACTIVE = 3.0, 1.0  # networks; more for each feature that it begins with
PER_SIZE, PER_LISTED, PER_FEATURE = 100.0, 5.0, 0.5  # more for each that is tried, or offered
LISTED_AT_MOST = 30


def networks(plan: RestartPlan, features: int) -> float:
    """About how many networks a search fits, in networks of all neurons on all samples."""
    active = features if plan.strategy == "scaling" else min(features, ACTIVE)
    each = PER_SIZE + PER_LISTED * min(features, LISTED_AT_MOST) + PER_FEATURE * features
    restarts = plan.n_restarts * (PER_RESTART + PER_ACTIVE * active)
    return restarts * (plan.strategy != "swap") + plan.size * each * (plan.strategy != "scaling")


def seconds_of_one(samples: int, neurons: int) -> float:
    """CPU seconds of one network, the least of three."""
    random = np.random.default_rng(0)

    def taken(n: int) -> float:
        XT, target = random.standard_normal((5, n)), Target(random.standard_normal((n, 1)))
        pool = Pool(XT, target, draw_neurons(neurons, 5, "tanh", random), 1e-3)
        begun = time.process_time()
        pool.fit(np.full(5, 0.5), slice(None)).key()
        return time.process_time() - begun

    taken(10)  # loads what is compiled
    return min(taken(samples) for _ in range(3))
