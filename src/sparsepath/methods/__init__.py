"""The table of methods, without heavy imports.

A method is an estimator with ``fit(X, y)``, ``predict``, ``path_``, ``selected_`` and
``at_size(k)``. Its entry has its name, classes, options, cost and recommended use. The command
line, ``compare``, the tables of the documentation and ``tests/contract`` read only this table, so a
new method consists of its class and its entry.
"""

from sparsepath.methods.lookup import called_here, check, having, in_passes, selectors
from sparsepath.methods.method import Method, load
from sparsepath.methods.options import OPTIONS, Option
from sparsepath.methods.table import METHODS

__all__ = [
    "METHODS",
    "OPTIONS",
    "Method",
    "Option",
    "called_here",
    "check",
    "having",
    "in_passes",
    "load",
    "selectors",
]
