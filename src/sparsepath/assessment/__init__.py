"""Assessment of a procedure: honest error, permutation test, stability.

``out_of_sample.py`` repeats a procedure with parts of the data held out and records every loss;
``correction.py`` corrects the error of a chosen size for the choice; ``honest.py`` combines both.
``null.py`` repeats the search on permuted targets, ``stability_selection.py`` on random halves.
``coefficient_intervals.py`` draws bootstrap resamples, ``false_discoveries.py`` controls the false
discovery rate, ``selective.py`` tests the steps of a forward search, ``planning.py`` estimates the
run time.
"""

from sparsepath.assessment.coefficient_intervals import Coefficients, coefficients
from sparsepath.assessment.false_discoveries import Discoveries, knockoffs
from sparsepath.assessment.honest import Honest, HonestError, honest_error
from sparsepath.assessment.null import Null, permutation_null
from sparsepath.assessment.planning import Planned, plan
from sparsepath.assessment.selective import SelectivePValues, selective_p_values
from sparsepath.assessment.stability_selection import Stability, stability

__all__ = [
    "Coefficients",
    "Discoveries",
    "Honest",
    "HonestError",
    "Null",
    "Planned",
    "SelectivePValues",
    "Stability",
    "coefficients",
    "honest_error",
    "knockoffs",
    "permutation_null",
    "plan",
    "selective_p_values",
    "stability",
]
