"""The commands that use what a search has left: predict, export and report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsepath.cli import options
from sparsepath.cli import teaching as ask
from sparsepath.cli.options import OUTPUT
from sparsepath.cli.streams import print_document, taken
from sparsepath.cli.teaching import among, stoppable
from sparsepath.errors import InputError

# For the help, without loading what writes them.
LANGUAGES = {
    "c": "one C99 file, no allocation",
    "javascript": "one function",
    "python": "one module",
    "sql": "one expression, SQLite and DuckDB",
    "onnx": "a graph; needs the onnx package",
    "json": "the formula as plain data",
}


def list_of_languages() -> str:
    """Every language with what comes out."""
    return "\n".join(["Languages:", *(f"  {name:10}  {is_}" for name, is_ in LANGUAGES.items())])


@stoppable()
def predict(
    model: ask.Model,
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help=f"{ask.DATA_FILES}, with the columns the model uses."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to this .csv, .parquet or .npy file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    target: ask.TrueValues = None,
    id: ask.Ids = None,
    rows: ask.Rows = None,
    size: ask.Size = None,
    delimiter: ask.Delimiter = None,
    decimal: ask.Decimal = None,
    encoding: ask.Encoding = None,
    sheet: ask.Sheet = None,
    json: ask.Json = False,
    quiet: ask.Quiet = False,
) -> None:
    """Predict with a saved model.

    CSV goes to stdout unless a file is named.
    """
    wanted = None if rows is None else options.rows("--rows", rows)

    from sparsepath.cli import predict as job
    from sparsepath.cli import results

    if out is not None:
        beside = model.parent / "path.json"
        results.refuse_inputs([data, model, beside], [out])
    data = taken(data)
    loaded = job.load_model(model, None if size is None else options.whole("--size", size))
    writing = options.writing(delimiter, decimal, encoding, sheet)
    found = job.predict(loaded, job.PredictionAsked(data, wanted, target, writing, id))
    job.write(found, out, json, quiet)


@stoppable()
def export(
    model: ask.Model,
    to: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The language, see below.",
            autocompletion=among(LANGUAGES),
            rich_help_panel=OUTPUT,
        ),
    ],
    size: ask.Size = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            show_default="double",
            help="double or float: onnx.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    out: ask.ToFile = None,
    json: ask.Json = False,
) -> None:
    """Write a saved model as a program that needs no sparsepath."""
    import sys

    from sparsepath.cli import predict as job
    from sparsepath.cli import results
    from sparsepath.export import FORMATS

    to = options.one_of("--to", to, FORMATS)
    if out is not None:
        results.refuse_inputs([model, model.parent / "path.json"], [out])
    loaded = job.load_model(model, None if size is None else options.whole("--size", size))
    made = loaded.export(to, out, dtype=dtype)
    if out is None and isinstance(made, bytes) and (json or sys.stdout.isatty()):
        raise InputError(f"{to} is no text; name a file with --out.")
    if json:
        print_document(
            "export",
            language=to,
            size=len(loaded.selected_),
            file=None if out is None else str(out),
            program=made if out is None else None,
        )
    elif out is not None:
        print(f"Written: {out}")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(made if isinstance(made, bytes) else made.encode())


@stoppable()
def report(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="path.json of sparsepath select.")],
    size: ask.Size = None,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The page.", rich_help_panel=OUTPUT)
    ] = Path("index.html"),
    json: ask.Json = False,
) -> None:
    """Write the page of a path: sizes, errors and features, to explore in a browser."""
    from sparsepath.cli import results
    from sparsepath.files import replacing
    from sparsepath.path import SelectionPath
    from sparsepath.report import page, summary, told

    results.refuse_inputs([path], [out])
    found = SelectionPath.load(path)
    rule: Any = "one_se" if size is None else options.whole("--size", size)
    chosen = found.choose(rule)
    answer = told(found, chosen)
    made = summary(found, title=f"Which few features: {path}", answer=answer, chosen=chosen)
    with replacing(out) as stream:
        stream.write(page(made))
    if json:
        print_document("report", file=str(out), size=chosen, answer=answer)
    else:
        print(f"Written: {out}")
