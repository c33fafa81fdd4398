"""Result files of a selection: path, plots, fitted model."""

import hashlib
import io
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsepath.cli.run_file import ABOUT, RUN, command, run_file
from sparsepath.cli.values import check_name
from sparsepath.data.readers import write_table
from sparsepath.errors import FileError
from sparsepath.models.saved import SavedModel
from sparsepath.report.outcome import Outcome
from sparsepath.system.files import replacing_together, same_file

FILES = {
    "path.json": "the whole path, for SelectionPath.load",
    "path.csv": "the table of sizes, errors and features",
    "path.png": "which features at which size",
    "curve.png": "error against number of features",
    "honest.json": "error on new data, shuffled targets, stability",
    "index.html": "all of it on one page, to open in a browser",
    RUN: ABOUT,
    "model.json": "the fitted model, for sparsepath predict and export",
}
JUDGED = ("honest", "null", "stability", "coefficients", "fdr", "p_values")
MODEL = "model.json"
PICKLED = "model.joblib"
CHECKSUM = "model_sha256"  # in the data of a path: of the model file beside it
MORE_FILES = {
    PICKLED: "the fitted estimator, for Python; a pickle",
    "compare.html": "several methods on one page, on the same rows left out",
    "diabetes.csv": "the data",
}
SCHEMA = {"schema": "sparsepath/selection", "schema_version": 1}
# What a spreadsheet computes when it opens a CSV file; a sign before a number is none.
FORMULA = re.compile(r"[=@\t\r].|[+-](?![\d.,]*\d(e[+-]?\d+)?$).", re.DOTALL | re.IGNORECASE)


def check_folder(folder: Path) -> None:
    """Refuse a folder in which nothing can be written, before any long work."""
    check_name(folder)
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise FileError(f"cannot write to {folder}: {there} is a file, not a folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise FileError(f"cannot write to {folder}: no permission.")


def refuse_inputs(inputs: Iterable[Path], outputs: Iterable[Path], option: str = "--out") -> None:
    """Refuse to write over what is being read."""
    inputs = list(inputs)
    for output in outputs:
        for given in inputs:
            if same_file(output, given):
                raise FileError(
                    f"cannot write {output}: it is the input file ({given}); name another "
                    f"with {option}."
                )


def write_results(
    outcome: Outcome, folder: Path, more: Mapping[str, bytes] | None = None
) -> dict[str, Path]:
    """Write all of ``FILES``, and more; they take the places of older ones when all are whole.

    The path is put in place first and the model last, and the path holds the checksum of its
    model: whatever stops a process between the two, ``predict`` sees that they do not belong
    together.
    """
    path = outcome.path
    model = SavedModel.of(outcome.model).to_bytes()
    path = path.replaced(data={**path.data, CHECKSUM: hashlib.sha256(model).hexdigest()})
    more = dict(more or {})
    if "index.html" not in more:
        more["index.html"] = page_of(outcome).encode()
    names = [name for name in (*FILES, *more) if name != MODEL]
    names = [*dict.fromkeys(names), MODEL]
    with replacing_together(folder, names) as stage:
        path.save(stage / "path.json")
        frame = path.to_frame("pyarrow")
        columns = {name: frame.column(name).to_numpy() for name in frame.column_names}
        write_table(stage / "path.csv", without_formulas(columns))
        made = {
            "path.png": picture(partial(path.plot_path, chosen=outcome.size)),
            "curve.png": picture(partial(path.plot_curve, chosen=outcome.size)),
            "honest.json": json.dumps(assess(outcome), allow_nan=False).encode(),
            RUN: run_file(Path(outcome.table.source), _told_apart(outcome), outcome.code),
            MODEL: model,
        }
        for name, content in {**made, **more}.items():
            (stage / name).write_bytes(content)
    return {name: folder / name for name in names}


def without_formulas(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns for a CSV file: names and texts that a spreadsheet takes for formulas get a '.

    >>> without_formulas({"=1+1": np.array(["-1.5", "-", "=A1", "@SUM(A1)", "a=b"])})
    {"'=1+1": array(['-1.5', '-', "'=A1", "'@SUM(A1)", 'a=b'], dtype=object)}
    """
    made = {}
    for name, values in columns.items():
        values = np.asarray(values)
        if values.dtype.kind not in "biuf":
            values = np.array([*map(_no_formula, values.tolist()), None], dtype=object)[:-1]
        made[_no_formula(name)] = values
    return made


def _no_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def _told_apart(outcome: Outcome) -> list[Any]:
    """Return what identifies a result: subsets and errors of every size, and the chosen size."""
    path = outcome.path
    honest = _plain(path.honest_errors) if path.is_validated else None
    return [path.subsets, _plain(path.errors), honest, outcome.size]


def picture(draw: Callable[[], Any], dpi: int = 150) -> bytes:
    """Return a plot as the bytes of a PNG file."""
    figure = draw().figure
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a box stands for what the font lacks
        figure.savefig(stream, format="png", dpi=dpi)
    return stream.getvalue()


def page_of(outcome: Outcome, **more: str) -> str:
    """Return the HTML report of the result."""
    from sparsepath.report import Seen, page, summary
    from sparsepath.report.answer import details, heading, lines

    table = outcome.table
    seen = None
    if outcome.y is not None:
        seen = Seen(table.X, outcome.y, outcome.extras)
    *about, error = heading(outcome)
    return page(
        summary(
            outcome.path,
            title=f"Which few features of {Path(outcome.table.source).name}",
            answer=lines(outcome),
            about=[*about, error, *details(outcome)],
            notes=[*outcome.said, *outcome.notes],
            chosen=outcome.size,
            model=outcome.model,
            stability=outcome.stability,
            null=outcome.null,
            seen=seen,
            columns=outcome.remarks,
            command=command(),
            code=outcome.code,
        ),
        **more,
    )


def pickle_estimator(model: Any) -> bytes:
    """Return the pickled estimator, to be loaded only by users who trust the file."""
    import joblib

    stream = io.BytesIO()
    joblib.dump(model, stream, compress=3)
    return stream.getvalue()


def assess(outcome: Outcome) -> dict[str, Any]:
    """Honest error, shuffled targets and halves; None for what was not requested."""
    path, record, null, halves = outcome.path, outcome.honest, outcome.null, outcome.stability
    found: dict[str, Any] = dict.fromkeys(JUDGED)
    if record is not None:
        found["honest"] = {
            **record.to_dict(),
            "gain": record.gain,
            "sizes": path.sizes,
            "errors": path.honest_errors,
            "errors_se": path.honest_errors_se,
        }
    if null is not None:
        found["null"] = {
            "p_value": null.p_value,
            "n_permutations": len(null.null_errors),
            "criterion": null.criterion,
            "sizes": null.sizes,
            "errors": null.errors,
            "p_values": null.p_values,
            "null_errors": null.null_errors,
        }
    if halves is not None:
        found["stability"] = {
            "n_halves": halves.n_runs,
            "sizes": halves.sizes,
            "indices": halves.indices,
            "indices_se": halves.indices_se,
            "frequencies": {str(size): halves.frequency(size) for size in halves.sizes},
            "expected_false": {str(size): halves.expected_false(size) for size in halves.sizes},
            "stand_ins": {str(size): halves.stand_ins(size) for size in halves.sizes},
        }
    if outcome.coefficients is not None:
        known = outcome.coefficients
        found["coefficients"] = {
            "level": known.level,
            "n_resamples": known.n_resamples,
            "features": known.features,
            "values": known.values,
            "low": known.low,
            "high": known.high,
            "shares": known.shares,
        }
    if outcome.discoveries is not None:
        by = outcome.discoveries
        found["fdr"] = {"level": by.fdr, "features": by.features, "statistics": by.statistics}
    if outcome.p_values is not None:
        steps = outcome.p_values
        found["p_values"] = {
            "features": steps.features,
            "values": steps.p_values,
            "sigma": steps.sigma,
            "sigma_from": steps.estimated_from,
        }
    return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    """Return JSON values; None if not finite."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _leaks(outcome: Outcome) -> Any:
    """Columns that predict the target suspiciously well, and the answer without them."""
    if not outcome.leaks:
        return None
    columns = [
        {"column": each.name, "alone": each.score, "measure": each.measure}
        for each in outcome.leaks
    ]
    other = outcome.without
    answer = None
    if other is not None:
        honest = None if other.honest is None else other.honest.to_dict()
        answer = {"size": other.size, "features": other.path.names(other.size), **other.figures}
        answer["honest"] = honest
    return _plain({"columns": columns, "without": answer})


def document(outcome: Outcome, files: dict[str, Path]) -> str:
    """Return the result as one JSON document."""
    path, size, table = outcome.path, outcome.size, outcome.table
    step = path.step(size)
    m, n = table.X.shape
    return json.dumps(
        {
            **SCHEMA,
            "source": table.source,
            "target": table.target,
            "n_samples": m,
            "n_features": n,
            "task": outcome.task.name,
            "notes": [*outcome.said, *outcome.notes],
            "chosen": {
                "size": size,
                "rule": outcome.rule,
                **({"alpha": outcome.model.alpha_} if hasattr(outcome.model, "alpha_") else {}),
                "features": path.names(size),
                "columns": step.subset,
                "error": step.error if math.isfinite(step.error) else None,
                "error_se": step.error_se if math.isfinite(step.error_se) else None,
                "error_kind": path.error_kind,
                **outcome.figures,
            },
            **assess(outcome),
            "leaks": _leaks(outcome),
            "path": path.to_dict(models=False),
            "files": {name: str(file) for name, file in files.items()},
        },
        allow_nan=False,
    )
