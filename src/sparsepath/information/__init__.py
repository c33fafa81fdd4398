"""Mutual information by nearest neighbours, and selection paths that it guides."""

from sparsepath.information.kraskov import mutual_information
from sparsepath.information.selectors import MutualInfoSelector

__all__ = ["MutualInfoSelector", "mutual_information"]
