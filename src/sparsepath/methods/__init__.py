"""The methods: one table, one entry each; light, so that help and documents are quick.

A method is an estimator with ``fit(X, y)``, ``predict``, ``path_``, ``selected_`` and
``at_size(k)``. Its entry says what it is called, which classes it is, which options it has, what
it costs and when to take it. The command line, ``compare``, the tables of the documents and
``tests/contract`` read this table and nothing else, so a new method is its class and its entry.
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
