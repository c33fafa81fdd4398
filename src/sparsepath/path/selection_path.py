"""The selection path: the result of every method (``estimator.path_``)."""

import copy
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from sparsepath.data.names import NumberedNames
from sparsepath.errors import FileError, InputError
from sparsepath.models.predictors import Linear, Predictor
from sparsepath.path import plots
from sparsepath.path.by_size import StepsBySize, without
from sparsepath.path.choosing import ranges
from sparsepath.path.record import damaged_error, file_text, parts_of, read_file, record_of
from sparsepath.path.steps import HONEST_NUMBERS, Move, Step, mean_and_se
from sparsepath.system.arrays import Axes, Figure, Floats
from sparsepath.system.files import replacing
from sparsepath.system.frames import Make, make_frame
from sparsepath.system.json_files import plain, versions_in_use

ERROR_KINDS = ("training", "selection", "honest")
INTERRUPTED = "interrupted"
ASKED = "asked to"
LONGEST_PATH = 100  # features to which a search goes, unless asked for more
CUT = (INTERRUPTED, ASKED)  # why a search ended before its end


class SelectionPath(StepsBySize):
    """Best subset of each size, its errors and models, and the history of the search.

    Parameters
    ----------
    steps : mapping of size to Step, or iterable of Step
        One per size; the empty model, size 0, is normally one of them, unless there are features
        that every model must have. Kept in order of size.
    n_features, feature_names : int, sequence of str
        Number and names of all columns; columns without names are called ``x0, x1, ...``.
    moves, start : iterable of Move, iterable of int
        Moves of the search in order, and the subset it started from: the forced features, or all
        features for a backward search.
    criterion, error_kind : str, {"training", "selection", "honest"}
        What ``error`` measures, and on which data: on the training data, by the search itself
        (optimistic for the selected subsets), or on data that the search never saw. All methods use
        one scale: a "squared error" is the mean per sample in squared units of the target, summed
        over targets, without a factor of one half and without penalties.
    method, parameters, seed
        Method, its parameters and seed. A parameter that JSON cannot hold is stored as its
        ``repr``.
    data, versions : mapping
        Data (``n_samples``, ``n_features``, ``fingerprint``) and package versions.
    complete, stopped : bool, str
        Whether the search finished by itself, and what ended it, such as ``"max_features"``. A
        search that was interrupted (``"interrupted"``) or stopped by a callback (``"asked to"``) is
        not complete.
    validation : str
        Outer splits of the honest errors, such as ``"10-fold"``; empty if there are none.
    models : mapping of size to Predictor
        Model of each size, unless it is the linear model of its step.

    Examples
    --------
    >>> steps = [Step((), 4.0), Step((0,), 3.0), Step((1, 2), 1.0), Step((1, 2, 0), 0.9)]
    >>> path = SelectionPath(steps, n_features=4)
    >>> path.choose("min"), path.choose(within=0.2), path.names(2)
    (3, 2, ('x1', 'x2'))
    >>> path.entering_together()
    [Exchange(size=2, entered=(1, 2), left=(0,))]
    """

    def __init__(
        self,
        steps: Mapping[int, Step] | Iterable[Step],
        *,
        n_features: int,
        moves: Iterable[Move] = (),
        start: Iterable[int] = (),
        feature_names: Sequence[str] | None = None,
        criterion: str = "leave-one-out squared error",
        error_kind: str = "selection",
        method: str = "",
        parameters: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        seed: int | None = None,
        versions: Mapping[str, str] | None = None,
        complete: bool = True,
        stopped: str = "",
        validation: str = "",
        models: Mapping[int, Predictor] | None = None,
    ) -> None:
        if isinstance(steps, Mapping):
            if any(size != len(step.subset) for size, step in steps.items()):
                raise InputError("each key of steps must be the number of features of its Step.")
            steps = steps.values()
        self.steps = _by_size(steps)
        self.n_features = operator.index(n_features)
        self.moves = tuple(moves)
        self.start = tuple(map(operator.index, start))
        self.feature_names: Sequence[str] = _names(feature_names, self.n_features)
        self.criterion, self.error_kind, self.method = criterion, error_kind, method
        self.parameters: dict[str, Any] = plain(parameters or {})
        self.data: dict[str, Any] = plain(data or {})
        self.versions: dict[str, str] = dict(versions_in_use() if versions is None else versions)
        self.seed, self.stopped, self.validation = plain(seed), stopped, validation
        self.complete = complete and stopped not in CUT
        sizes = self.sizes
        if not sizes or len(set(sizes)) < len(sizes):
            raise InputError(f"steps must hold one Step per size, not sizes {list(sizes)}.")
        if error_kind not in ERROR_KINDS:
            raise InputError(f"error_kind must be one of {ERROR_KINDS}, not {error_kind!r}.")
        if len(self.feature_names) != n_features:
            raise InputError(f"{n_features} features, but {len(self.feature_names)} feature_names.")
        self._check_columns()
        self._models = dict(models or {})  # the last: what has it is closed

    def _check_columns(self) -> None:
        """Raise an error for unknown columns or inconsistent moves."""
        moved = tuple([move.feature for move in self.moves])
        used = [columns for columns in (self.start, moved, *self.subsets) if columns]
        if used and not 0 <= min(map(min, used)) <= max(map(max, used)) < self.n_features:
            columns = sorted(set[int]().union(*used))
            raise InputError(f"columns must lie in 0..{self.n_features - 1}, not {columns}.")
        list(self.replay())  # raises if a move does not fit

    def __setattr__(self, name: str, value: Any) -> None:
        if "_models" in self.__dict__:
            raise AttributeError(f"a path is read-only: {name} cannot be set; use replaced().")
        object.__setattr__(self, name, value)

    def replaced(self, **changes: Any) -> "SelectionPath":
        """Return a copy with other attributes.

        Parameters
        ----------
        **changes
            New values by the parameter names of the class.
        """
        path = copy.copy(self)
        if "steps" in changes:
            changes["steps"] = _by_size(changes["steps"])
        vars(path).update(changes)
        return path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SelectionPath) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        best, stopped = self.choose("min"), f", stopped: {self.stopped}" if self.stopped else ""
        least = f"{self.error_label} {self.error(best):.6g}"
        by = "" if self.error_kind == "honest" else ", a size is chosen by this criterion"
        if self.is_validated:
            least = f"honest error ({self.validation}) {self.honest_error(best):.6g}"
            by = ""
        return (
            f"<SelectionPath {self.method!r}: sizes {ranges(self.sizes)} of {self.n_features} "
            f"features, least {least} at size {best}{by}{stopped}>"
        )

    def _repr_html_(self) -> str:
        from sparsepath.path import notebook

        sizes, errors, _, label, chosen, beside = self._curve()
        size = [*chosen.values()][-1]
        place = sizes.index(size)
        rows, before = [], tuple[str, ...]()
        for k, error in zip(sizes, errors.tolist(), strict=True):
            names = self.names(k)
            enters = ", ".join(name for name in names if name not in before)
            leaves = ", ".join(name for name in before if name not in names)
            rows.append([str(k), f"{error:.5g}", f"{enters}{f' (out: {leaves})' * bool(leaves)}"])
            before = names
        lines = [(sizes, errors.tolist())]
        if beside is not None:
            lines.append((sizes, beside[1].tolist()))
            label = f"{label}; dashed: {beside[0]}"
        best = self.choose("min")
        said = f"Least error at size {best}; size {size} is within one standard error of it."
        said = f"Least error at size {best}." if best == size else said
        parts = [
            notebook.sentence(f"{label[0].upper()}{label[1:]}. {said}"),
            notebook.curves(lines, (size, float(errors[place])), f"{label} against size"),
            notebook.table(["size", "error", "enters"], rows, place),
        ]
        return notebook.piece(f"{self.method or 'path'}: {self.n_features:,} features", parts)

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Bounds proved by ``search="exact"``; None for other searches.

        A dictionary with ``criterion`` and, for each of ``sizes``, the value of the subset on the
        path (``values``) and a lower bound for all subsets of this size (``lower_bounds``). If the
        two are equal, the subset is proved best.
        """
        return self.data.get("certificate")

    @property
    def models(self) -> dict[int, Predictor]:
        """Small immutable model of every size; empty if the method does not predict.

        ``models[k].predict(X)`` returns numbers or class scores; X has all columns of the data.
        """
        every = {size: self._models.get(size) or Linear.of(self.step(size)) for size in self.sizes}
        return {size: model for size, model in every.items() if model is not None}

    @property
    def has_linear_models(self) -> bool:
        """True if the coefficients of the steps are the models, without an inverse link."""
        known = all(step.coef is not None and step.intercept is not None for step in self.steps)
        return known and not self._models

    def model(self, size: int) -> Predictor:
        """Return the model of one size.

        Parameters
        ----------
        size : int
            One of ``sizes``.
        """
        found = self._models.get(size) or Linear.of(self.step(size))
        if found is None:
            raise InputError(f"the path of {self.method or 'this method'} has no models.")
        return found

    def moved(self, offsets: Mapping[int, Floats]) -> "SelectionPath":
        """Return the same path with numbers added to the intercepts of the models.

        Parameters
        ----------
        offsets : dict of int to array
            By size, what is added to each output.
        """
        if not any(by.any() for by in offsets.values()):
            return self
        steps = [
            step
            if step.intercept is None or len(step.subset) not in offsets
            else replace(step, intercept=step.intercept + offsets[len(step.subset)])
            for step in self.steps
        ]
        models = {
            size: model.moved(offsets[size]) if size in offsets else model
            for size, model in self._models.items()
        }
        return self.replaced(steps=tuple(steps), _models=models)

    def replay(self) -> Iterator[tuple[int, ...]]:
        """Yield the subset after each move, in order of entry."""
        subset = dict.fromkeys(self.start)
        for move in self.moves:
            if (move.action, move.feature in subset) == ("add", False):
                subset[move.feature] = None
            elif (move.action, move.feature in subset) == ("drop", True):
                del subset[move.feature]
            else:
                raise InputError(f"{move} does not fit the subset before it, {tuple(subset)}.")
            yield tuple(subset)

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row per size.

        Columns: size, error, error_se, error_kind, entered, left, features; with validation also
        honest_error and honest_error_se. ``entered`` and ``left`` are relative to the previous
        size; names are joined by commas.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """

        def joined(subset: Iterable[int]) -> str:
            return ", ".join(self.feature_names[i] for i in subset)

        pairs = list(pairwise([(), *self.subsets]))
        honest = {
            "honest_error": self.honest_errors.tolist(),
            "honest_error_se": self.honest_errors_se.tolist(),
        }
        columns = {
            "size": list(self.sizes),
            "error": self.errors.tolist(),
            "error_se": self.errors_se.tolist(),
            "error_kind": [self.error_kind] * len(self),
            **(honest if self.is_validated else {}),
            "entered": [joined(without(new, old)) for old, new in pairs],
            "left": [joined(without(old, new)) for old, new in pairs],
            "features": [joined(subset) for subset in self.subsets],
        }
        return make_frame(columns, backend)

    def with_honest(
        self, known: Mapping[int, Mapping[str, Any]], validation: str
    ) -> "SelectionPath":
        """Return the same path with honest errors.

        Parameters
        ----------
        known : mapping of size to mapping
            Attributes of ``Step`` such as ``honest_error``, by size.
        validation : str
            Outer splits, such as "10-fold".
        """
        none = dict.fromkeys(HONEST_NUMBERS, math.nan)
        steps = tuple(replace(s, **known.get(len(s.subset), none)) for s in self.steps)
        return self.replaced(steps=steps, validation=validation)

    def evaluate(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        cv: Any = None,
        selector: Any = None,
    ) -> "SelectionPath":
        """Refit an estimator on the subset of every size and return a path with its errors.

        Criteria of different methods cannot be compared: one is a leave-one-out squared error,
        another a training error or minus mutual information. This method evaluates all subsets by
        the same measure, the mean squared error, summed over targets, or by the error rate of a
        classifier. ``error_kind`` of the returned path says on which data.

        Parameters
        ----------
        estimator : scikit-learn regressor or classifier
            It is cloned for every size. With a fixed ``random_state``, equal subsets have equal
            errors.
        X, y : array or data frame, array
            Data to fit on, with the same columns as the path.
        X_test, y_test : array or data frame, array, optional
            Data that neither the search nor the fits have used: the error is honest.
        cv : int, splitter or list of splits, optional
            Without test data: cross-validate on X. If the path was selected on X, this is
            optimistic and labelled a selection error. Without ``cv``, it is the training error.
        selector : estimator with a path, optional
            Nested cross-validation: the selector is refitted to the training fold of every split,
            and its subsets are used there. The error of the full procedure at each size is then
            honest.
        """
        from sparsepath.path import evaluation

        found = evaluation.judge(
            self.subsets, self.n_features, estimator, X, y, X_test, y_test, cv, selector
        )
        steps = []
        for size, losses in found.losses.items():
            trained = found.trained[size]
            steps.append(Step(self.subset(size), *mean_and_se(losses), train_error=trained))
        return self.replaced(
            steps=tuple(steps),
            moves=(),
            start=(),
            validation="",
            criterion=found.criterion,
            error_kind=found.kind,
            parameters={**self.parameters, "evaluated_by": repr(estimator)},
            _models={},
        )

    def plot_path(
        self, ax: Axes | None = None, chosen: int | None = None, *, all_features: bool = False
    ) -> Axes:
        """Draw the feature selection path: which features are selected at which size.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        chosen : int, optional
            Size to highlight, with its features.
        all_features : bool, default=False
            Draw every feature in column order. By default this is done for at most 30 features;
            with more, only features selected at some size are drawn, in order of entry.
        """
        return plots.plot_path(
            self.sizes,
            self.matrix(),
            self.feature_names,
            ax=ax,
            chosen=chosen,
            all_features=all_features,
        )

    def plot_curve(
        self, ax: Axes | None = None, chosen: int | None = None, *, log: bool | None = None
    ) -> Axes:
        """Draw the sparsity-error trade-off (SET) curve: error against size.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        chosen : int, optional
            Size to mark in addition to the minimum; default: that of the rule "one_se".
        log : bool, optional
            Use a logarithmic error axis. By default if the largest error is more than ten times the
            smallest.
        """
        return plots.plot_curve(self._curve(chosen), ax=ax, log=log)

    def plot(self, *, log: bool | None = None, all_features: bool = False) -> Figure:
        """Draw the error curve above the path, with a common size axis.

        Parameters
        ----------
        log : bool, optional
            Use a logarithmic error axis. By default if the largest error is more than ten times
            the smallest.
        all_features : bool, default=False
            Show every feature in column order; default: only features selected at some size, if
            there are more than 30.
        """
        return plots.plot(
            self._curve(), self.matrix(), self.feature_names, log=log, all_features=all_features
        )

    def to_dict(self, *, models: bool = True) -> dict[str, Any]:
        """Return the path as standard JSON values, with exact floats.

        ``coef`` has one list per target. ``feature_names`` is None if the columns have no names.

        Parameters
        ----------
        models : bool
            Include nonlinear models, which may be large.
        """
        return record_of(self, models)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "SelectionPath":
        """Return the path that ``to_dict`` converted.

        Parameters
        ----------
        record : dict
            Result of ``to_dict``.
        """
        parts = parts_of(record)
        try:
            return cls(**parts)
        except InputError as error:
            raise damaged_error(error) from error

    def save(self, path: str | Path) -> None:
        """Write the path and its models as JSON with a checksum.

        An existing file is replaced only after the new one is complete.

        Parameters
        ----------
        path : path
            File, such as "path.json".
        """
        with replacing(path) as stream:
            stream.write(file_text(self.to_dict()))

    @classmethod
    def load(cls, path: str | Path) -> "SelectionPath":
        """Read a path that ``save`` wrote. A modified file raises an error.

        Parameters
        ----------
        path : path
            File, such as "path.json".
        """
        try:
            return cls.from_dict(read_file(Path(path).read_bytes()))
        except OSError as error:
            raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
        except InputError as error:
            raise FileError(f"cannot read {path}: {error}") from error

    def _curve(self, asked: int | None = None) -> plots.Curve:
        """Return the data of the error curve: errors that determine the size, and the criterion
        beside honest errors.
        """
        sizes, errors, errors_se = self.sizes, self.errors, self.errors_se
        label, beside = self.error_label, None
        if self.is_validated:
            errors, errors_se = self.honest_errors, self.honest_errors_se
            label = f"error on samples left out ({self.validation})"
            beside = (f"{self.criterion} of the search", self.errors)
        least = errors_se[sizes.index(self.choose("min"))]
        rules = ("min",) if math.isnan(least) else ("min", "one_se")
        chosen = {rule: self.choose(rule) for rule in rules}
        if asked is not None:
            chosen = {"min": chosen["min"], "chosen": asked}
        return plots.Curve(sizes, errors, errors_se, label, chosen, beside)


def _by_size(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(sorted(steps, key=lambda step: len(step.subset)))


def _names(given: Sequence[str] | None, n_features: int) -> Sequence[str]:
    if given is None:
        return NumberedNames(n_features)
    return given if isinstance(given, NumberedNames) else tuple(map(str, given))
