"""Judging a procedure by what it never saw: honest error, permutation null, stability.

``out_of_sample.py`` repeats a procedure with parts of the data left out and keeps every loss;
``correction.py`` corrects the error of a chosen size for the choice; ``honest.py`` puts both into
a record. ``null.py`` repeats the search on shuffled targets, ``stability_selection.py`` on halves.
``planning.py`` estimates the run time.
"""

from sparsepath.assessment.honest import Honest, HonestError, honest_error
from sparsepath.assessment.null import Null, permutation_null
from sparsepath.assessment.planning import Planned, plan
from sparsepath.assessment.stability_selection import Stability, stability

__all__ = [
    "Honest",
    "HonestError",
    "Null",
    "Planned",
    "Stability",
    "honest_error",
    "permutation_null",
    "plan",
    "stability",
]
