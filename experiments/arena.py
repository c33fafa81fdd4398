"""The results of the library and of other tools, on real data and simulated designs.

Each set is split at random; every method tunes itself on the training rows and is judged on the others.
Finished parts are kept in build/arena, one per set, split and method, so that an interrupted run resumes.
A method ends with fewer splits of a set when those before took more than its share of CPU time.

    python experiments/arena.py                # what is missing, then the page
    python experiments/arena.py --rivals       # only other tools, no page
    python experiments/arena.py --page         # the page of the parts that there are
    python experiments/arena.py --tiny         # one split of two small sets, for a test
"""

import argparse
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import arena_designs
import arena_rivals
from arena_rivals import Method
from arena_sets import CLASSES, REGRESSION, SETS, RealSet
from parts import ROOT, Parts
from results import save_page, table
from sparsepath import (
    AutoSelectorClassifier,
    AutoSelectorRegressor,
    GraftingClassifierCV,
    GraftingRegressorCV,
    SparseRLSClassifier,
    SparseRLSRegressor,
)

SPLITS, FEWEST = 10, 2
SHARE = 4.0  # CPU seconds of a method on a set, beyond which it gets no more than FEWEST splits
REFERENCE, DEFAULT, AUTO = "alpha = 1", "default", "AutoSelector"
KINDS: Mapping[str, Iterable[str]] = {"ours": ["src/sparsepath"], "rival": []}


def selected(model: Any) -> np.ndarray:
    return np.asarray(model.selected_)


def own(classes: bool) -> dict[str, Method]:
    """The library's answers."""
    rls, grafting, auto = (
        (SparseRLSClassifier, GraftingClassifierCV, AutoSelectorClassifier)
        if classes
        else (SparseRLSRegressor, GraftingRegressorCV, AutoSelectorRegressor)
    )
    return {
        REFERENCE: Method(lambda: rls(alpha=1.0, n_threads=1), selected),
        DEFAULT: Method(lambda: rls(n_threads=1), selected),
        "grafting": Method(grafting, selected),
        AUTO: Method(lambda: auto(n_threads=1), selected),
    }


def rivals(classes: bool) -> dict[str, Method]:
    return arena_rivals.classification() if classes else arena_rivals.regression()


def fitted(a_set: RealSet, split: int, method: Method) -> dict[str, Any]:
    """One method on one split: its error on the rows that it did not see, columns and seconds."""
    X, y, X_test, y_test = a_set.split(split)
    begin = time.process_time()
    try:
        model = method.make().fit(X, y)
        seconds, said = time.process_time() - begin, np.ravel(model.predict(X_test))
    except Exception as error:  # a tool that fails on a set is a result, and is reported as one
        return {"failed": f"{type(error).__name__}: {error}"[:200]}
    error = np.mean(said != y_test) if a_set.classes else np.mean((said - y_test) ** 2)
    columns = method.columns(model)
    return {
        "error": float(error),
        "columns": None if columns is None else np.asarray(columns).tolist(),
        "width": X.shape[1],
        "seconds": seconds,
    }


class Results:
    """What is known of every set, method and split."""

    def __init__(self, folder: Path, fits: bool = True) -> None:
        self.parts, self.fits = Parts(folder, dict(KINDS)), fits
        self.known: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}

    def add(self, a_set: RealSet, split: int, kind: str, name: str, method: Method) -> None:
        """Fit if the share of CPU time lets it."""
        cell = self.known.setdefault((a_set.name, name), {})
        if any("failed" in one for one in cell.values()):
            return
        spent = sum(one["seconds"] for one in cell.values())
        if spent > SHARE and (split >= FEWEST or spent > 6 * SHARE):
            return
        part = "--".join("".join(c if c.isalnum() else "_" for c in s) for s in (a_set.name, name))
        if self.fits or self.parts.file(kind, f"{part}--{split}").exists():
            cell[split] = self.parts.get(kind, f"{part}--{split}", fitted, a_set, split, method)

    def of(self, a_set: RealSet, name: str) -> dict[int, dict[str, Any]]:
        """The splits of a method on a set; none if it failed there."""
        cell = self.known.get((a_set.name, name), {})
        return {} if any("failed" in one for one in cell.values()) else cell

    def ahead(self, a_set: RealSet, name: str, of: str = REFERENCE) -> float:
        """Log ratio of squared errors to another method, or points of error rate, same splits."""
        one, other = self.of(a_set, name), self.of(a_set, of)
        both = sorted(one.keys() & other.keys())
        if not both:
            return np.nan
        pairs = [(one[i]["error"], other[i]["error"]) for i in both]
        if a_set.classes:
            return float(np.mean([100 * (a - b) for a, b in pairs]))
        return float(np.mean([np.log(a / b) for a, b in pairs]))

    def size(self, a_set: RealSet, name: str) -> float:
        """Median number of columns."""
        cells = self.of(a_set, name).values()
        sizes = [one["width"] if one["columns"] is None else len(one["columns"]) for one in cells]
        return float(np.median(sizes)) if sizes else np.nan

    def seconds(self, a_set: RealSet, name: str) -> float:
        cells = self.of(a_set, name).values()
        return float(np.median([one["seconds"] for one in cells])) if cells else np.nan

    def stability(self, a_set: RealSet, name: str) -> float:
        """Nogueira's measure of the columns over the splits: 1 if always the same, 0 by chance."""
        cells = list(self.of(a_set, name).values())
        if len(cells) < 2 or cells[0]["columns"] is None:
            return np.nan
        width = max(one["width"] for one in cells)
        chosen = np.zeros((len(cells), width))
        for row, one in zip(chosen, cells, strict=True):
            row[one["columns"]] = 1
        share, mean = chosen.mean(0), chosen.sum(1).mean() / width
        if mean in (0, 1):
            return np.nan
        return float(1 - chosen.var(0, ddof=1).mean() / (mean * (1 - mean))) if share.any() else 0.0


def run(results: Results, sets: Iterable[RealSet], splits: int, kinds: Iterable[str]) -> None:
    """Everything that is missing, split by split."""
    sets, kinds = [one for one in sets if one.at_hand], set(kinds)
    for split in range(splits):
        for a_set in sets:
            for kind, methods in (("ours", own(a_set.classes)), ("rival", rivals(a_set.classes))):
                for name, method in methods.items() if kind in kinds else ():
                    results.add(a_set, split, kind, name, method)
        print(f"split {split + 1} of {splits}", flush=True)


def shown(value: float, classes: bool) -> str:
    if np.isnan(value):
        return ""
    return f"{value:+.1f}" if classes else f"{np.exp(value):.2f}"


def overview(results: Results, sets: list[RealSet], group_names: Iterable[str]) -> str:
    """Methods by groups of sets: mean difference to alpha = 1, median size, seconds, stability."""
    classes = group_names[0] in CLASSES
    names = [*own(classes), *rivals(classes)]
    groups = [(g, [one for one in sets if one.group == g]) for g in group_names]
    groups = [(g, some) for g, some in groups if some]
    head = ["method", *(f"{g} ({len(some)})" for g, some in groups), "stability", "CPU seconds"]
    rows = []
    for name in names:
        row = [name]
        for _, some in groups:
            ahead = [results.ahead(one, name) for one in some]
            known = [value for value in ahead if not np.isnan(value)]
            if not known:
                row.append("")
                continue
            size = np.nanmedian([results.size(one, name) for one in some])
            lacks = f" on {len(known)}" if len(known) < len(some) else ""
            row.append(f"{shown(float(np.mean(known)), classes)} [{size:g}]{lacks}")
        every_set = [one for _, some in groups for one in some]
        for measure in (results.stability, results.seconds):
            value = [measure(one, name) for one in every_set]
            value = [v for v in value if not np.isnan(v)]
            row.append(f"{np.median(value):.2f}" if value else "")
        rows.append(row)
    return table(head, rows)


def by_set(results: Results, sets: list[RealSet]) -> str:
    """Every set: the error of alpha = 1, and and the results of the others."""
    classes = sets[0].classes
    names = [DEFAULT, "grafting", AUTO, *rivals(classes)]
    rows = []
    for one in sets:
        reference = [cell["error"] for cell in results.of(one, REFERENCE).values()]
        mean = np.mean(reference) if reference else np.nan
        first = f"{100 * mean:.1f} %" if classes else f"{mean:.3g}"
        size = results.size(one, REFERENCE)
        row = [one.name, one.rows, len(reference), f"{first} [{size:g}]"]
        for name in names:
            value = shown(results.ahead(one, name), classes)
            row.append(f"{value} [{results.size(one, name):g}]" if value else "")
        rows.append(row)
    return table(["set", "rows", "splits", REFERENCE, *names], rows)


def bars(results: Results, sets: list[RealSet]) -> str:
    """Return the best other selection method of at most 1.5 times our size, for each group."""
    rows = []
    for group in (*REGRESSION, *CLASSES):
        some = [one for one in sets if one.group == group]
        if not some:
            continue
        classes = some[0].classes
        for ours in (DEFAULT, AUTO):
            found = []
            for name, method in rivals(classes).items():
                pairs = [(results.ahead(one, name, ours), one) for one in some]
                known = [(a, one) for a, one in pairs if not np.isnan(a)]
                if not method.selects or not known:
                    continue
                ratio = [
                    np.log(max(results.size(one, name), 1) / max(results.size(one, ours), 1))
                    for _, one in known
                ]
                if np.exp(np.mean(ratio)) <= 1.5:
                    found.append((float(np.mean([a for a, _ in known])), name))
            if not found:
                rows.append([group, ours, "none at this size", "", "met"])
                continue
            ahead, name = min(found)
            limit = -0.5 if classes else np.log(0.98)
            unit = f"{ahead:+.1f} points" if classes else f"{np.exp(ahead):.2f}"
            rows.append([group, ours, name, unit, "met" if ahead >= limit else "not met"])
    for group, limit in (("spectra", np.log(0.75)), ("wide classes", -4.0)):
        some = [one for one in sets if one.group == group]
        for ours in (DEFAULT, AUTO) if some else ():
            ahead = float(np.nanmean([results.ahead(one, ours) for one in some]))
            unit = f"{ahead:+.1f} points" if some[0].classes else f"{np.exp(ahead):.2f}"
            verdict = "met" if ahead <= limit else "not met"
            rows.append([group, ours, f"(ours relative to {REFERENCE})", unit, verdict])
    head = [
        "group",
        "ours",
        "best other selection method with at most 1.5 times the columns",
        "relative error",
        "",
    ]
    return table(head, rows)


def failures(results: Results) -> str:
    lines = [
        f"- {name} on {a_set}: {next(iter(cell.values()))['failed']}"
        for (a_set, name), cell in results.known.items()
        if any("failed" in one for one in cell.values())
    ]
    return "\n".join(lines) or "None."


def page(results: Results, sets: Iterable[RealSet], designs: str) -> str:
    at_hand = [one for one in sets if one.at_hand]
    kept_back = [one for one in at_hand if not one.tuning]
    text = [HEAD]
    text += ["## Targets on the held-back data sets\n", bars(results, kept_back), ""]
    for title, some in (
        ("Held-back data sets", kept_back),
        ("Data sets used to choose defaults", [one for one in at_hand if one.tuning]),
    ):
        for kind, groups in (("numbers", REGRESSION), ("classes", CLASSES)):
            these = [one for one in some if one.group in groups]
            if these:
                text += [f"## {title}: {kind}\n", overview(results, these, groups), ""]
                text += [by_set(results, these), ""]
    text += ["## Tools that failed\n", failures(results), ""]
    return "\n".join([*text, designs])


HEAD = """# Arena: comparison with other tools

This page is generated by `experiments/arena.py`. Each data set has up to ten random splits into training and test rows; the tables of data sets list how many have been run. Every method
is tuned on the training rows and evaluated on the test rows. Two methods are compared on the splits that both completed. With two splits, a difference of a few per cent, or of one percentage point, may be random.

- Regression: squared error as a ratio to greedy RLS with `alpha=1`, geometric means over splits and sets; below 1 is better.
- Classification: error rate minus that of `alpha=1`, in percentage points, means over splits and sets; below 0 is better.
- In brackets: the median number of selected columns.
- Stability: how similar the columns selected in different splits are (Nogueira's measure: 1 if identical, about 0 if random).
- `default` is `SparseRLSRegressor()` or `SparseRLSClassifier()`; `grafting` is `GraftingRegressorCV()` or `GraftingClassifierCV()`, omitted for many classes because it takes minutes.
- Targets: no other selection method with at most 1.5 times as many columns as ours is better by more than 2 % of squared error, or by half a percentage point (the relative error in the first table is that of the other method divided by ours). In addition, ours is better than `alpha=1` by 25 % on spectra, and by 4 percentage points on wide data with classes.

The data sets were divided into two halves before any method was run. Only the first half may be used to choose defaults; the second was held back for this comparison.
"""


def main(
    splits: int, sets: Iterable[RealSet], folder: Path, kinds: Any, reps: int, fits: bool = True
) -> None:
    results = Results(folder, fits)
    run(results, sets, splits, kinds)
    designs = arena_designs.compare(results.parts, reps, kinds, fits)
    if set(kinds) == set(KINDS):
        save_page("arena", page(results, sets, designs))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--parts", type=Path, default=ROOT / "build" / "arena")
    given = parser.parse_args()
    if given.tiny:
        tiny = [one for one in SETS if one.name in ("diabetes", "breast cancer")]
        main(1, tiny, given.parts / "tiny", KINDS, 0)
    else:
        kinds = ["rival"] if given.rivals else list(KINDS)
        main(given.splits, SETS, given.parts, kinds, given.repetitions, not given.page)
