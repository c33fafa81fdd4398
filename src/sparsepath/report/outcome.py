"""The result of a selection, with what there is to say about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparsepath.assessment import (
    Coefficients,
    Discoveries,
    Honest,
    Null,
    SelectivePValues,
    Stability,
)
from sparsepath.assessment.leaks import Suspect
from sparsepath.data.readers import Table
from sparsepath.data.task import TargetTask
from sparsepath.path.selection_path import SelectionPath


@dataclass(frozen=True)
class Remark:
    """A remark on some columns; on the rows or the target if it names none."""

    columns: tuple[str, ...]
    why: str  # in few words, for the card of the data
    out: bool  # whether they take no part in the search
    said: str = ""  # a sentence to print before the search; empty: nothing is printed


@dataclass(frozen=True)
class Outcome:
    """Fitted model of a selection, its data, and remarks."""

    model: Any
    table: Table
    task: TargetTask
    rule: str | int | float
    notes: list[str]
    method: str = "greedy-rls"
    remarks: list[Remark] = field(default_factory=list)  # on the data, before the search
    figures: dict[str, float] = field(default_factory=dict)  # the error in well-known measures
    null: Null | None = None  # the search on permuted targets
    stability: Stability | None = None  # the search on halves
    cut: bool = False  # Ctrl-C came after the search
    extras: Mapping[str, Any] = field(default_factory=dict)  # weights, groups
    leaks: tuple[Suspect, ...] = ()  # columns that predict the target suspiciously well
    without: "Outcome | None" = None  # the same search without them
    coefficients: Coefficients | None = None  # bootstrap intervals
    discoveries: Discoveries | None = None  # at a false discovery rate
    p_values: SelectivePValues | None = None  # of the steps
    y: Any = None  # the target as it was fitted; None if it is read in passes
    code: tuple[str, ...] = ()  # lines of Python that give the same result

    @property
    def path(self) -> SelectionPath:
        path: SelectionPath = self.model.path_
        return path

    @property
    def said(self) -> list[str]:
        """Return notes on the data, before the search."""
        return [remark.said for remark in self.remarks if remark.said]

    @property
    def size(self) -> int:
        return len(self.model.selected_)

    @property
    def honest(self) -> Honest | None:
        """Out-of-sample error of the full procedure, if it was estimated."""
        record: Honest | None = getattr(self.model, "honest_", None)
        return record

    @property
    def is_nothing(self) -> bool:
        """True if permuted targets reach the same error."""
        return self.null is not None and self.null.is_nothing

    @property
    def interrupted(self) -> bool:
        return self.cut or not self.path.complete


def beneath(model: Any) -> Any:
    """Return the selector that searches: the model itself, or the inner one of
    ``TableSelector``.
    """
    return getattr(model, "selector_", getattr(model, "selector", model))
