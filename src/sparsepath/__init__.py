"""Which few features, how many, and at what error.

Every method leaves a :class:`SelectionPath`: the best subset of each size and its error. Names are
imported when they are first used, so that ``import sparsepath`` costs next to nothing.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsepath.errors import FileError, InputError, PathWarning, SparsepathError
    from sparsepath.grafting import (
        GraftingClassifier,
        GraftingClassifierCV,
        GraftingPath,
        GraftingRegressor,
        GraftingRegressorCV,
        MLPGraftingClassifier,
        MLPGraftingRegressor,
        grafting_path,
    )
    from sparsepath.path import Exchange, Move, SelectionPath, Step
    from sparsepath.rls import SparseRLSClassifier, SparseRLSRegressor

_HOMES = {
    "FileError": "errors",
    "InputError": "errors",
    "PathWarning": "errors",
    "SparsepathError": "errors",
    "GraftingClassifier": "grafting",
    "GraftingClassifierCV": "grafting",
    "GraftingPath": "grafting",
    "GraftingRegressor": "grafting",
    "GraftingRegressorCV": "grafting",
    "MLPGraftingClassifier": "grafting",
    "MLPGraftingRegressor": "grafting",
    "grafting_path": "grafting",
    "Exchange": "path",
    "Move": "path",
    "SelectionPath": "path",
    "Step": "path",
    "SparseRLSClassifier": "rls",
    "SparseRLSRegressor": "rls",
}

__all__ = [
    "Exchange",
    "FileError",
    "GraftingClassifier",
    "GraftingClassifierCV",
    "GraftingPath",
    "GraftingRegressor",
    "GraftingRegressorCV",
    "InputError",
    "MLPGraftingClassifier",
    "MLPGraftingRegressor",
    "Move",
    "PathWarning",
    "SelectionPath",
    "SparseRLSClassifier",
    "SparseRLSRegressor",
    "SparsepathError",
    "Step",
    "grafting_path",
]

try:
    __version__ = version("sparsepath")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
