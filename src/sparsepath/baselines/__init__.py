"""Baseline methods of the five papers, to repeat their comparisons.

The searches return a ``SelectionPath`` like every method of the package. They are as slow as the
papers say: a wrapper refits every candidate, the low-rank update costs the square of the number of
samples. Use them to compare, not to select.
"""

from sparsepath.baselines.descent import l1_linear, l1_network
from sparsepath.baselines.measures import saliency
from sparsepath.baselines.scaling import scaling_path
from sparsepath.baselines.searches import low_rank_path, random_path, wrapper_path
from sparsepath.baselines.svm import svm_wrapper

__all__ = [
    "l1_linear",
    "l1_network",
    "low_rank_path",
    "random_path",
    "saliency",
    "scaling_path",
    "svm_wrapper",
    "wrapper_path",
]
