"""Estimate the run time of a search before it starts.

Nearly all of its time goes into networks: outputs of the neurons, their products, the leave-one-out
error. So the search is counted in networks of all neurons on all samples, small ones by their part,
and one such network is timed on numbers drawn at random. Some have a sample of the rows, so that of
many rows they are a smaller part. The counts are those of measured searches, good to a factor of
two; a search that ends early, because nothing is gained, takes less.
"""

import time

import numpy as np

from sparsepath.elm.network import Target, draw_neurons
from sparsepath.elm.pool import Pool
from sparsepath.elm.search import ACTIVE, RestartPlan

ALONE, ALONE_EACH = 0.5, 0.66  # networks of a restart with all neurons; more for each feature
PER_RESTART, PER_ACTIVE, PER_GIVEN = 0.8, 0.12, 0.06  # with half; for each in its start; for each
PER_SIZE, PER_LISTED, PER_FEATURE = 12.0, 1.5, 0.15  # more for each that is tried, or offered
LISTED_AT_MOST = 30
ON_ALL, ON_SAMPLE = 0.3, 700  # of these: networks of all rows, and of so many rows


def networks(plan: RestartPlan, features: int, samples: int) -> float:
    """About how many networks a search fits, in networks of all neurons on all samples."""
    if plan.strategy == "scaling":
        return plan.n_restarts * (ALONE + ALONE_EACH * features)
    each = PER_SIZE + PER_LISTED * min(features, LISTED_AT_MOST) + PER_FEATURE * features
    each *= ON_ALL + min(1.0, ON_SAMPLE / samples)
    restart = PER_RESTART + PER_ACTIVE * min(features, ACTIVE) + PER_GIVEN * features
    restarts = plan.n_restarts * restart
    return restarts * (plan.strategy != "swap") + plan.size * each


def seconds_of_one(samples: int, neurons: int) -> float:
    """CPU seconds of one network, the least of three."""
    random = np.random.default_rng(0)

    def taken(n: int) -> float:
        XT, target = random.standard_normal((5, n)), Target(random.standard_normal((n, 1)))
        pool = Pool(XT, target, draw_neurons(neurons, 5, "tanh", random), 1e-3)
        begun = time.process_time()
        pool.fit(np.full(5, 0.5), slice(None)).leave_one_out()
        return time.process_time() - begun

    return min(taken(samples) for _ in range(3))
