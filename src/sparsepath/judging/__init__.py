"""Judging a procedure by what it never saw: honest error, permutation null, stability.

``left_out.py`` repeats a procedure with parts of the data left out and keeps every loss;
``correction.py`` corrects the error of a chosen size for the choice; ``honest.py`` puts both into
a record. ``null.py`` repeats the search on shuffled targets, ``halves.py`` on halves.
``planning.py`` tells what all that will take.
"""

from sparsepath.judging.halves import Stability, stability
from sparsepath.judging.honest import Honest, HonestError, honest_error
from sparsepath.judging.null import Null, permutation_null
from sparsepath.judging.planning import Planned, plan

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
