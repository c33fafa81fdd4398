"""Remarks on the columns of a table: which are left out, and which look like something else."""

from collections.abc import Iterator, Sequence
from typing import Any

from sparsepath.assessment.column_checks import ColumnFindings, inspect_columns
from sparsepath.assessment.leaks import Suspect
from sparsepath.data.formats import named_columns
from sparsepath.data.names import listing
from sparsepath.data.readers import Table
from sparsepath.data.task import TargetTask
from sparsepath.report.outcome import Remark

LEAKS_SAID = 4  # of them described one by one


def remarks_on(table: Table, task: TargetTask) -> list[Remark]:
    """Return remarks; raise an error for numbers outside the floating-point range."""
    found, seen = list[Remark](), inspect_columns(table, task)
    if names := tuple(table.index):
        those = "it as a feature" if len(names) == 1 else "them as features"
        what = "only numbers the rows" if len(names) == 1 else "only number the rows"
        if names == ("x0",):  # which may also have their names
            what = "(the first one, without a name) numbers or names the rows"
        said = (
            f"Note: {named_columns(names)} {what} and {_is(names)} left out; "
            f"--keep-index takes {those}."
        )
        found.append(Remark(names, "numbers the rows", True, said))
    found += _on_columns(table, seen)
    if seen.copies:
        found.append(_on_copies(seen.copies))
    if seen.repeated:
        are = "row is a copy" if seen.repeated == 1 else "rows are copies"
        said = (
            f"Note: {seen.repeated} of {table.X.shape[0]:,} {are} of others, in all columns and "
            "the target. Every copy counts, and the validation holds out all copies of a row "
            "together."
        )
        found.append(Remark((), "", False, said))
    if task.doubt:
        found.append(Remark((), "", False, f"Note: {task.doubt}"))
    return found


def leaks(found: Sequence[Suspect], remarks: Sequence[Remark]) -> list[Remark]:
    """Return warnings about columns that predict the target suspiciously well, one per column."""
    known = {name for remark in remarks if remark.said[:8] == "Warning:" for name in remark.columns}
    found = [each for each in found if each.name not in known]
    if not found:
        return []
    names = [each.name for each in found]
    what = "; ".join(each.sentence for each in found[:LEAKS_SAID])
    more = f"; and {len(found) - LEAKS_SAID} more columns" if len(found) > LEAKS_SAID else ""
    one = len(names) == 1
    said = (
        f"Warning: {what}{more} (on rows left out). {'Is it' if one else 'Are they'} known before "
        f"the target is? If not, leave {'it' if one else 'them'} out: --drop {listing(names)}"
    )
    return [Remark(tuple(names), "predicts the target suspiciously well: a leak?", False, said)]


def _on_columns(table: Table, seen: ColumnFindings) -> Iterator[Remark]:
    for names, how, why in (
        (seen.leaks, "the target {0!r} up to a linear map (correlation 1)", "the target itself"),
        (seen.near, "all but the target {0!r} (correlation above 0.9995)", "nearly the target"),
    ):
        it, they = ("it", "it is") if len(names) == 1 else ("them", "they are")
        said = (
            f"Warning: {named_columns(names)} {_is(names)} {how.format(table.target)}: if {they} "
            f"not known before the target is, leave {it} out by --drop {listing(names)}"
        )
        if names:
            yield Remark(tuple(names), f"{why}: known only after the fact?", False, said)
    if ids := seen.ids:
        one = len(ids) == 1
        said = (
            f"Note: {named_columns(ids)} {'holds' if one else 'hold'} whole numbers that are all "
            f"different; if {'it is an id' if one else 'these are ids'}, leave "
            f"{'it' if one else 'them'} out by --drop {listing(ids)}"
        )
        yield Remark(tuple(ids), "all different: an id?", False, said)
    if names := seen.constant:
        has = "has" if len(names) == 1 else "have"
        said = f"Note: {named_columns(names)} {has} only one value and no information."
        yield Remark(tuple(names), "one value only", True, said)


def _on_copies(pairs: list[tuple[str, str]]) -> Remark:
    names = tuple(name for name, _ in pairs)
    if len(pairs) == 1:
        said = f"Note: column {names[0]!r} is a copy of {pairs[0][1]!r}."
    else:
        some = ", ".join(f"{name!r} of {other!r}" for name, other in pairs[:5])
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        said = f"Note: {len(pairs)} columns are copies of others: {some}{more}."
    return Remark(names, "a copy of another column", False, said)


def uninformative_columns(preparation: Any) -> list[Remark]:
    """Columns without information; the preparation itself reports them."""
    lost = [feature for feature in preparation.features_ if not feature.labels]
    reasons = {"no values": [f.name for f in lost if f.is_empty]}
    reasons["text that is different in every row"] = [f.name for f in lost if not f.is_empty]
    return [Remark(tuple(names), why, True) for why, names in reasons.items() if names]


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
