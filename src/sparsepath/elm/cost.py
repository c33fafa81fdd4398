"""Estimate the run time of a search from the shape of the data.

Nearly all of the time goes into networks: outputs of the neurons, their products, the leave-one-out
error. A network with k neurons takes k^2 (rows + 300) units of 4e-11 seconds; the swap search fits
75 networks and .45 for each feature at a size, most of them on a sample of the rows. Twelve
searches, 100 x 300 to 5000 x 15, took 0.7 to 1.5 times as long.
"""

from sparsepath.elm.search import ACTIVE, RestartPlan
from sparsepath.elm.subsets import FIRST_ROWS

UNIT = 4e-11  # seconds
FEW_ROWS = 300  # rows to which the work of a network comes beside its own
PER_SIZE, PER_FEATURE = 75.0, 0.45  # networks of the swap search
PER_SCALING = 0.66  # networks of a restart for each feature that it begins with


def seconds(plan: RestartPlan, samples: int, features: int, neurons: int, sizes: int) -> float:
    """Estimate the CPU seconds of a search that ends after so many sizes."""
    alone = plan.strategy == "scaling"
    begun = features if alone else min(features, ACTIVE)
    restart = PER_SCALING * (begun + 1) * (FEW_ROWS + samples)
    if not alone:
        restart /= 4  # with half of the neurons
    sampled = 0.3 * samples + 0.7 * min(samples, FIRST_ROWS)
    swaps = sizes * (PER_SIZE + PER_FEATURE * features) * (FEW_ROWS + sampled)
    work = swaps * (not alone) + plan.n_restarts * restart * (plan.strategy != "swap")
    return UNIT * neurons**2 * work
