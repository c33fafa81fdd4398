"""The table of methods, without heavy imports.

A method is an estimator with ``fit(X, y)``, ``predict``, ``path_``, ``selected_`` and
``at_size(k)``. Its entry has its name, classes, options, cost and recommended use. The command
line, ``compare``, the tables of the documentation and ``tests/contract`` read only this table, so a
new method consists of its class and its entry.
"""

from sparsepath.methods.method import OPTIONS, Method, Option, load
from sparsepath.methods.table import METHODS, called_here, check, having, in_passes, selectors

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
