"""Compare the paths of several methods with one estimator and one metric."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparsepath.errors import InputError
from sparsepath.path import plots
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Figure
from sparsepath.system.frames import Make, make_frame


@dataclass(frozen=True, eq=False)
class PathComparison:
    """Result of :func:`compare_paths`: paths of several methods with comparable errors.

    Attributes
    ----------
    paths : dict of str to SelectionPath
        Original paths, each with its own kind of error.
    judged : dict of str to SelectionPath
        Paths with the same subsets and errors of one estimator; ``error_label`` states their kind.
    """

    paths: dict[str, SelectionPath]
    judged: dict[str, SelectionPath]

    @property
    def error_label(self) -> str:
        """Name and kind of the evaluated errors."""
        return next(iter(self.judged.values())).error_label

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row per size and method.

        Columns: size, method, features, error, error_se, error_kind.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        every = [(size, name) for name, path in self.judged.items() for size in path.sizes]
        every.sort(key=lambda pair: pair[0])  # methods stay in their order
        steps = [self.judged[name].step(size) for size, name in every]
        columns: dict[str, list[Any]] = {
            "size": [size for size, _ in every],
            "method": [name for _, name in every],
            "features": [", ".join(self.judged[name].names(size)) for size, name in every],
            "error": [step.error for step in steps],
            "error_se": [step.error_se for step in steps],
            "error_kind": [self.judged[name].error_kind for _, name in every],
        }
        return make_frame(columns, backend)

    def plot(self, curves: tuple[str, ...] | None = None) -> Figure:
        """Draw selected features (FSP), error curves (SET) and evaluated errors.

        Parameters
        ----------
        curves : tuple of str, optional
            Methods whose own error curve is drawn; None: all.
        """
        asked = tuple(self.paths) if curves is None else curves
        if unknown := [name for name in asked if name not in self.paths]:
            raise InputError(f"no path is called {unknown[0]!r}; there are {list(self.paths)}.")
        return plots.plot_comparison(
            {
                name: (path.sizes, path.matrix(), path.feature_names)
                for name, path in self.paths.items()
            },
            {name: self.paths[name]._curve() for name in asked},
            {name: (path.sizes, path.errors) for name, path in self.judged.items()},
            self.error_label,
        )


def compare_paths(
    paths: Mapping[str, SelectionPath],
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    cv: Any = None,
    selectors: Mapping[str, Any] | None = None,
) -> PathComparison:
    """Evaluate the paths of several methods with one estimator.

    Parameters
    ----------
    paths : mapping of str to SelectionPath
        Paths by display name; all of the same columns.
    estimator : scikit-learn regressor or classifier
        It is cloned for every size of every path. With a fixed ``random_state`` equal subsets
        have equal errors.
    X, y : array or data frame, array
        The data to fit on, with the columns that the paths were made of.
    X_test, y_test : array or data frame, array, optional
        Data that neither the searches nor the fits have seen: the errors are honest.
    cv : int, splitter or list of splits, optional
        Without test data: cross-validate on X. If the paths were chosen on X this is optimistic,
        and is called a selection error. Without ``cv`` it is the training error.
    selectors : mapping of str to estimator, optional
        For nested cross-validation: the estimator of each path.

    Returns
    -------
    PathComparison
        With ``plot()`` and ``to_frame()``.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sparsepath import LarsSelector, MutualInfoSelector
    >>> from sparsepath.data.synthetic import functional
    >>> train, test = functional(300, random_state=0), functional(1000, random_state=1)
    >>> selectors = {"LARS": LarsSelector(), "MI": MutualInfoSelector()}
    >>> paths = {name: s.fit(train.X, train.y).path_ for name, s in selectors.items()}
    >>> found = compare_paths(paths, KNeighborsRegressor(), train.X, train.y, test.X, test.y)
    >>> found.error_label
    'squared error of KNeighborsRegressor (honest error)'
    >>> bool(found.judged["MI"].error(5) < found.judged["LARS"].error(5))
    True
    """
    if not paths:
        raise InputError("paths is empty; give at least one.")
    if selectors is not None and set(selectors) != set(paths):
        raise InputError(
            f"selectors are given for {sorted(selectors)}, paths for {sorted(paths)}; "
            "give one for each path."
        )
    given, made_by = (estimator, X, y, X_test, y_test), selectors or {}
    judged = {
        name: path.evaluate(*given, cv=cv, selector=made_by.get(name))
        for name, path in paths.items()
    }
    return PathComparison(dict(paths), judged)
