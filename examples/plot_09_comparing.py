"""
Comparing methods
=================

Seven methods on one small problem. Each chooses its features and its size without the held-out samples on which it is evaluated. The target is Friedman's function: five of ten features
matter, two of them through a product and one through its square.
"""

import warnings

from sparsepath import PathWarning, compare
from sparsepath.data.synthetic import friedman

problem = friedman(120, random_state=0)
methods = ["greedy-rls", "floating-rls", "backward-rls", "lars", "grafting", "mi-forward", "elm-fs"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PathWarning)
    table = compare(methods, problem.X, problem.y, validation=3)
print(table.sentence())

# %%
# The results of all methods. The bars are 90 % intervals of the error on new data.

figure = table.plot()

# %%

print(
    table.to_frame()[["method", "size", "honest_error", "low", "high", "features"]]
    .round(2)
    .to_string(index=False)
)
