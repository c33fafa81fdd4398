"""Help that teaches: options in groups, examples to copy, and the options that commands share."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from sparsepath.cli import options
from sparsepath.cli.options import DATA, HONEST, OUTPUT, RUNNING, SEARCH
from sparsepath.methods import METHODS


class InterruptError(Exception):
    """Ctrl-C before there was anything to keep."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Take Ctrl-C to ``main``; some versions of typer would end without a word."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptError from error


class Taught(TyperCommand):
    """A command whose help shows its options in groups, in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then the groups in their order, then what belongs to none."""
        groups: dict[str, list[tuple[str, str]]] = {
            name: [] for name in ("Arguments", DATA, SEARCH, HONEST, OUTPUT, RUNNING, "Help")
        }
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            group = getattr(parameter, "rich_help_panel", None) or "Help"
            group = "Arguments" if parameter.param_type_name == "argument" else group
            if record is not None:
                groups[group].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def examples(*commands: str, then: str = "") -> str:
    """What stands below the options: commands to copy, and more."""
    lines = "\n".join(f"  sparsepath {command}" for command in commands)
    return f"\b\nExamples:\n{lines}" + (f"\n\n\b\n{then}" if then else "")


def list_of_methods() -> str:
    """Every method with its summary."""
    width = max(map(len, METHODS))
    lines = [f"  {name:{width}}  {method.summary}" for name, method in METHODS.items()]
    return "\n".join(["Methods:", *lines])


def among(values: Iterable[str]) -> Callable[[str], list[str]]:
    """What a shell completes an option with."""

    def completed(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return completed


Command = TypeVar("Command", bound=Callable[..., None])


def with_options(command: Command) -> Command:
    """Give a command the options of all methods, in the place of its last parameter."""
    own = list(inspect.signature(command).parameters.values())[:-1]
    every = [*own, *options.parameters()]
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in every}
    return command


def _option(group: str, metavar: str, text: str, *flags: str, **more: Any) -> Any:
    return typer.Option(*flags, metavar=metavar, help=text, rich_help_panel=group, **more)


def _flag(group: str, flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=group)


DATA_FILES = "CSV, Parquet, Feather, JSON, Excel, svmlight, npy or npz file; - for CSV from stdin"
File = Annotated[Path, typer.Argument(metavar="DATA", help=DATA_FILES)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="model.json of sparsepath select.")]
Target = Annotated[
    str | None,
    _option(
        DATA,
        "COL",
        "Column to predict, by name or position (-1: the last). Needed, but for svmlight.",
        "--target",
        "-t",
    ),
]
Drop = Annotated[str | None, _option(DATA, "A,B", "Columns not to read as features.")]
Rows = Annotated[
    str | None, _option(DATA, "COL=VALUE", "Rows to use, such as split=train or split!=test.")
]
KeepIndex = Annotated[
    bool,
    _flag(
        DATA,
        "--keep-index",
        "Take columns that only number the rows (a first column without a name, or one that counts "
        "0, 1, 2, ...) as features.",
    ),
]
Missing = Annotated[
    str,
    _option(
        DATA,
        "HOW",
        "Missing values: error (they are refused), median (or the commonest value), indicator "
        "(that, and where they were), drop-rows, drop-columns.",
        autocompletion=among(("error", "median", "indicator", "drop-rows", "drop-columns")),
    ),
]
Dates = Annotated[
    str,
    _option(
        DATA,
        "HOW",
        "Dates: error (they are refused), or parts: year, month, day, weekday, hour.",
        autocompletion=among(("error", "parts")),
    ),
]
Delimiter = Annotated[
    str | None,
    _option(DATA, "C", "What separates the columns of a text file; found out if not given."),
]
Decimal = Annotated[
    str | None,
    _option(DATA, "C", "Decimal mark of a text file: . or , (found out if not given)."),
]
Encoding = Annotated[
    str | None,
    _option(
        DATA, "NAME", "Encoding of a text file, such as latin-1 or utf-16; UTF-8 if not given."
    ),
]
Sheet = Annotated[
    str | None, _option(DATA, "NAME", "Sheet of a workbook; needed if several have cells.")
]
Names = Annotated[
    Path | None,
    _option(
        DATA,
        "FILE",
        "Text file with a name for each column, one a line, where the data have none: svmlight, "
        "npy, CSV without names.",
    ),
]
Sample = Annotated[
    str | None,
    _option(DATA, "N", "For a first look: N rows drawn at random, with the seed 0, or N:SEED."),
]
Weights = Annotated[str | None, _option(DATA, "COL", "Column of weights.")]
Groups = Annotated[str | None, _option(DATA, "COL", "Column of groups; folds keep them whole.")]
Memory = Annotated[
    str | None,
    _option(
        RUNNING, "SIZE", "Read the data in passes, within this much memory: 2GB, for larger files."
    ),
]
Dask = Annotated[
    str | None, _option(RUNNING, "ADDRESS", "Let a Dask cluster read the data; or 'local'.")
]
Resume = Annotated[
    bool, _flag(RUNNING, "--resume", "Go on from --checkpoint FILE, which must be there.")
]
MethodName = Annotated[
    str,
    _option(SEARCH, "NAME", "How to search, see below.", autocompletion=among(METHODS)),
]
MethodNames = Annotated[
    str | None,
    _option(
        SEARCH,
        "A,B",
        "Methods to compare, see below.",
        show_default="those that suit the task and the size",
        autocompletion=among(METHODS),
    ),
]
Task = Annotated[
    str,
    _option(SEARCH, "T", f"{', '.join(options.TASKS)}.", autocompletion=among(options.TASKS)),
]
MaxFeatures = Annotated[
    str | None, _option(SEARCH, "K", "Steps of the search.", show_default="as for select")
]
Cv = Annotated[str, _option(SEARCH, "CV", "As for select: loo, or folds.")]
Validation = Annotated[
    str | None,
    _option(
        HONEST,
        "N",
        "Folds that are left out of the whole procedure for the error on new data, by which the "
        "size is chosen; loo: one row at a time; time: rows in their order, by those before them.",
        show_default="10; 5 for nonlinear methods",
    ),
]
NoValidation = Annotated[
    bool, _flag(HONEST, "--no-validation", "Leave nothing out: quicker, and no honest error.")
]
Folds = Annotated[
    str, _option(HONEST, "N", "Folds that are left out, the same for all; loo or time.")
]
Null = Annotated[
    str | None,
    _option(HONEST, "N", "Repeat the search N times with the target shuffled: a p-value."),
]
Stability = Annotated[
    str | None,
    _option(HONEST, "N", "Repeat the search on N halves: which features are chosen again."),
]
TrueValues = Annotated[
    str | None,
    _option(DATA, "COL", "Column of the true values: print the error too.", "--target", "-t"),
]
Ids = Annotated[
    str | None, _option(DATA, "COL", "Column to put before the predictions, as the names of rows.")
]
Size = Annotated[
    str | None,
    _option(SEARCH, "K", "Model of this many features, instead of the one recommended."),
]
Folder = Annotated[
    Path | None,
    _option(OUTPUT, "DIR", "Write all of it to this folder, and a page to explore.", "--out", "-o"),
]
ToFile = Annotated[
    Path | None, _option(OUTPUT, "FILE", "Write here instead of to stdout.", "--out", "-o")
]
ModelFormat = Annotated[
    str,
    _option(
        OUTPUT,
        "F",
        "json: models as plain data; joblib: the estimator beside it, as a pickle.",
        autocompletion=among(("json", "joblib")),
    ),
]
Json = Annotated[bool, _flag(OUTPUT, "--json", "Print one JSON document instead.")]
Quiet = Annotated[bool, _flag(OUTPUT, "--quiet", "Print what was asked for, and no word more.")]
Budget = Annotated[
    str | None,
    _option(
        RUNNING,
        "TIME",
        "Such as 90s, 5min or 1h: methods that would not be done by then are passed over.",
    ),
]
Seed = Annotated[str | None, _option(RUNNING, "N", "Seed of methods that draw.", show_default="0")]
Threads = Annotated[
    str | None,
    _option(RUNNING, "N", options.THREADS, "--threads", "--jobs", show_default="one per core"),
]
