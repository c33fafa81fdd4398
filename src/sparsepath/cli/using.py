"""The commands that use what a search has left: predict, export and report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsepath.cli import options
from sparsepath.cli import teaching as ask
from sparsepath.cli.options import OUTPUT
from sparsepath.cli.streams import print_document, taken
from sparsepath.cli.teaching import asks
from sparsepath.errors import FileError, InputError

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


Columns = Annotated[
    Path, typer.Argument(metavar="DATA", help=f"{ask.DATA_FILES}, with the columns the model uses.")
]


@asks("out-table true-values id rows size delimiter decimal encoding sheet json quiet")
def predict(model: ask.Model, data: Columns, asked: Any) -> None:
    """Predict with a saved model.

    CSV goes to stdout unless a file is named.
    """
    from sparsepath.cli import predict as job
    from sparsepath.cli import results

    out = asked.out_table
    if out is not None:
        results.refuse_inputs([data, model, model.parent / "path.json"], [out])
    data = taken(data)
    loaded = job.load_model(model, asked.size)
    given = (asked.rows, asked.true_values, options.writing(asked), asked.id)
    found = job.predict(loaded, job.PredictionAsked(data, *given))
    job.write(found, out, asked.json, asked.quiet)


@asks("size dtype out-file json")
def export(
    model: ask.Model,
    to: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The language, see below.",
            autocompletion=lambda incomplete: [n for n in LANGUAGES if n.startswith(incomplete)],
            rich_help_panel=OUTPUT,
        ),
    ],
    asked: Any,
) -> None:
    """Write a saved model as a program that needs no sparsepath."""
    import sys

    from sparsepath.cli import predict as job
    from sparsepath.cli import results
    from sparsepath.export import FORMATS

    to, out = options.one_of("--to", to, FORMATS), asked.out_file
    if out is not None:
        results.refuse_inputs([model, model.parent / "path.json"], [out])
    loaded = job.load_model(model, asked.size)
    made = loaded.export(to, out, dtype=asked.dtype)
    if out is None and isinstance(made, bytes) and (asked.json or sys.stdout.isatty()):
        raise InputError(f"{to} is no text; name a file with --out.")
    if asked.json:
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


@asks("size json")
def report(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="path.json of sparsepath select.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The page.", rich_help_panel=OUTPUT)
    ] = Path("index.html"),
    asked: Any = None,
) -> None:
    """Write the page of a path: sizes, errors and features, to explore in a browser."""
    from sparsepath.cli import results
    from sparsepath.files import replacing
    from sparsepath.path import SelectionPath
    from sparsepath.report import page, summary, told

    results.refuse_inputs([path], [out])
    if path.is_dir():
        inside = path / "path.json"
        there = f"give {inside}" if inside.is_file() else "give the path.json of sparsepath select"
        raise FileError(f"{path} is a folder; {there}.")
    found = SelectionPath.load(path)
    chosen = found.choose("one_se" if asked.size is None else asked.size)
    answer = told(found, chosen)
    made = summary(found, title=f"Which few features: {path}", answer=answer, chosen=chosen)
    with replacing(out) as stream:
        stream.write(page(made))
    if asked.json:
        print_document("report", file=str(out), size=chosen, answer=answer)
    else:
        print(f"Written: {out}")
