"""Help that teaches: options in groups, examples to copy; the options of commands, in one table."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from sparsepath.cli import options
from sparsepath.cli.options import DATA, HONEST, OUTPUT, RUNNING, SEARCH, TASKS, TYPES
from sparsepath.methods import METHODS, called_here


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


DATA_FILES = "CSV, Parquet, Feather, JSON, Excel, svmlight, npy or npz file; - for CSV from stdin"
File = Annotated[Path, typer.Argument(metavar="DATA", help=DATA_FILES)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="model.json of sparsepath select.")]


class Typed(NamedTuple):
    """An option of a command.

    ``kind`` is that of one of the readers of ``options.py``, "flag", "file", or nothing for text;
    ``flags`` are what is typed if not its name with dashes before it, ``shown`` stands in the help
    for the default, ``values`` are what a shell completes it with.
    """

    group: str
    metavar: str
    help: str
    kind: str = ""
    flags: str = ""
    shown: str = ""
    values: tuple[str, ...] = ()

    def parameter(self, name: str, default: str) -> inspect.Parameter:
        """As a parameter of a command."""
        more: dict[str, Any] = {}
        if self.values:
            more["autocompletion"] = self._completed
        if self.shown:
            more["show_default"] = self.shown
        flag = self.kind == "flag"
        option = typer.Option(
            *(self.flags or f"--{name}").split(),
            metavar=None if flag else self.metavar,
            help=self.help,
            rich_help_panel=self.group,
            **more,
        )
        kind: Any = TYPES.get(self.kind, str)
        return inspect.Parameter(
            name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=default or (False if flag else None),
            annotation=Annotated[kind if flag or default else kind | None, option],
        )

    def _completed(self, incomplete: str) -> list[str]:
        return [value for value in self.values if value.startswith(incomplete)]

    def read(self, name: str, given: Any) -> Any:
        """What was typed, made into what it means."""
        reader = options.READERS.get(self.kind)
        first = self.flags.split()[0] if self.flags else f"--{name}"
        if self.kind == "method":
            return options.one_of(first, given, METHODS, called_here())
        if self.kind == "one_of":
            return options.one_of(first, given, self.values)
        return given if reader is None or given is None else reader(first, given)


OPTIONS = {
    "target": Typed(
        DATA,
        "COL",
        "Column to predict, by name or position (-1: the last). Needed, but for svmlight.",
        flags="--target -t",
    ),
    "true-values": Typed(
        DATA, "COL", "Column of the true values: print the error too.", flags="--target -t"
    ),
    "id": Typed(DATA, "COL", "Column to put before the predictions, as the names of rows."),
    "drop": Typed(DATA, "A,B", "Columns not to read as features.", "names"),
    "rows": Typed(DATA, "COL=VALUE", "Rows to use, such as split=train or split!=test.", "rows"),
    "keep-index": Typed(
        DATA,
        "",
        "Take columns that only number the rows (a first column without a name, or one that counts "
        "0, 1, 2, ...) as features.",
        "flag",
    ),
    "missing": Typed(
        DATA,
        "HOW",
        "Missing values: error (they are refused), median (or the commonest value), indicator "
        "(that, and where they were), drop-rows, drop-columns.",
        values=("error", "median", "indicator", "drop-rows", "drop-columns"),
    ),
    "dates": Typed(
        DATA,
        "HOW",
        "Dates: error (they are refused), or parts: year, month, day, weekday, hour.",
        values=("error", "parts"),
    ),
    "delimiter": Typed(
        DATA, "C", "What separates the columns of a text file; found out if not given."
    ),
    "decimal": Typed(DATA, "C", "Decimal mark of a text file: . or , (found out if not given)."),
    "encoding": Typed(
        DATA, "NAME", "Encoding of a text file, such as latin-1 or utf-16; UTF-8 if not given."
    ),
    "sheet": Typed(DATA, "NAME", "Sheet of a workbook; needed if several have cells."),
    "names": Typed(
        DATA,
        "FILE",
        "Text file with a name for each column, one a line, where the data have none: svmlight, "
        "npy, CSV without names.",
        "file",
    ),
    "sample": Typed(
        DATA, "N", "For a first look: N rows drawn at random, with the seed 0, or N:SEED.", "sample"
    ),
    "weights": Typed(DATA, "COL", "Column of weights."),
    "groups": Typed(DATA, "COL", "Column of groups; folds keep them whole."),
    "method": Typed(SEARCH, "NAME", "How to search, see below.", "method", values=(*METHODS,)),
    "methods": Typed(
        SEARCH,
        "A,B",
        "Methods to compare, see below.",
        "names",
        shown="those that suit the task and the size",
        values=(*METHODS,),
    ),
    "task": Typed(SEARCH, "T", f"{', '.join(TASKS)}.", "one_of", values=TASKS),
    "max-features": Typed(SEARCH, "K", "Steps of the search.", "count", shown="as for select"),
    "cv": Typed(SEARCH, "CV", "As for select: loo, or folds.", "cv"),
    "size": Typed(
        SEARCH, "K", "Model of this many features, instead of the one recommended.", "whole"
    ),
    "validation": Typed(
        HONEST,
        "N",
        "Folds that are left out of the whole procedure for the error on new data, by which the "
        "size is chosen; loo: one row at a time; time: rows in their order, by those before them.",
        "folds",
        shown="10; 5 for nonlinear methods",
    ),
    "no-validation": Typed(HONEST, "", "Leave nothing out: quicker, and no honest error.", "flag"),
    "folds": Typed(
        HONEST,
        "N",
        "Folds that are left out, the same for all; loo or time.",
        "folds",
        flags="--validation",
    ),
    "null": Typed(
        HONEST, "N", "Repeat the search N times with the target shuffled: a p-value.", "shuffles"
    ),
    "stability": Typed(
        HONEST, "N", "Repeat the search on N halves: which features are chosen again.", "halves"
    ),
    "out": Typed(
        OUTPUT,
        "DIR",
        "Write all of it to this folder, and a page to explore.",
        "file",
        flags="--out -o",
    ),
    "out-file": Typed(OUTPUT, "FILE", "Write here instead of to stdout.", "file", flags="--out -o"),
    "out-table": Typed(
        OUTPUT, "FILE", "Write to this .csv, .parquet or .npy file.", "file", flags="--out -o"
    ),
    "model-format": Typed(
        OUTPUT,
        "F",
        "json: models as plain data; joblib: the estimator beside it, as a pickle.",
        "one_of",
        values=("json", "joblib"),
    ),
    "dtype": Typed(OUTPUT, "T", "double or float: onnx.", shown="double"),
    "json": Typed(OUTPUT, "", "Print one JSON document instead.", "flag"),
    "quiet": Typed(OUTPUT, "", "Print what was asked for, and no word more.", "flag"),
    "memory": Typed(
        RUNNING,
        "SIZE",
        "Read the data in passes, within this much memory: 2GB, for larger files.",
        "size",
    ),
    "dask": Typed(RUNNING, "ADDRESS", "Let a Dask cluster read the data; or 'local'."),
    "resume": Typed(RUNNING, "", "Go on from --checkpoint FILE, which must be there.", "flag"),
    "budget": Typed(
        RUNNING,
        "TIME",
        "Such as 90s, 5min or 1h: methods that would not be done by then are passed over.",
        "duration",
    ),
    "seed": Typed(RUNNING, "N", "Seed of methods that draw.", "seed", shown="0"),
    "threads": Typed(
        RUNNING, "N", options.THREADS, "count", flags="--threads --jobs", shown="one per core"
    ),
    "anyway": Typed(RUNNING, "", "Also if the data are not what they were.", "flag"),
}


def asks(names: str, *, of_methods: bool = False) -> Callable[..., Callable[..., None]]:
    """Give a command its options, by their names in ``OPTIONS``; ``name=value`` has a default.

    What was typed is its last argument: an attribute for each option, read. With ``of_methods``
    those of all methods come too, as far as they were given, in the mapping ``of_method``.
    """
    own = {name: default for name, _, default in (each.partition("=") for each in names.split())}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        first = list(inspect.signature(command).parameters.values())[:-1]
        typed = [OPTIONS[name].parameter(name, default) for name, default in own.items()]
        every = [*first, *typed, *(options.parameters() if of_methods else [])]

        @wraps(command)
        @stoppable()
        def asked(**given: Any) -> None:
            arguments = [given.pop(each.name) for each in first]
            read = SimpleNamespace()
            for name in own:
                place = name.replace("-", "_")
                setattr(read, place, OPTIONS[name].read(name, given.pop(place)))
            left = {name.replace("_", "-"): value for name, value in given.items()}
            read.of_method = {
                name: options.value(name, value)
                for name, value in left.items()
                if value is not None
            }
            command(*arguments, read)

        asked.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        asked.__annotations__ = {each.name: each.annotation for each in every}
        return asked

    return decorated
