"""Options as click objects: those of the commands, and those of all methods from their table."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import click

from sparsepath.cli.values import TASKS, read
from sparsepath.methods import METHODS, having
from sparsepath.methods import OPTIONS as METHOD_OPTIONS

DATA, SEARCH, HONEST, OUTPUT, RUNNING = "Data", "Search", "Honest error", "Output", "Running"
GROUPS = {  # of options of methods in the help; the others belong to the search
    **dict.fromkeys(("weights", "groups", "class-weight", "threshold"), DATA),
    **dict.fromkeys(("seed", "threads", "checkpoint"), RUNNING),
}
# Without loading what makes them.
OTHER_SELECTORS = ("boruta", "forest-importance", "rfecv", "univariate-cox", "cox-all")
DATA_FILES = "CSV, Parquet, Feather, JSON, Excel, svmlight, npy or npz file; - for CSV from stdin"


class InterruptError(Exception):
    """Ctrl-C before there was anything to keep."""


class ValueType(click.ParamType):  # type: ignore[type-arg]
    """Click type of a value that a function in ``values.py`` parses."""

    name = "value"

    def __init__(self, kind: str = "", values: tuple[str, ...] = ()) -> None:
        self.kind, self.values = kind, values

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read a value; defaults of commands are typed too."""
        if not isinstance(value, str):
            return value
        flag = str(param.metavar) if isinstance(param, click.Argument) else param.opts[0]
        return read(flag, self.kind, value, self.values)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        """Values that a shell may complete."""
        from click.shell_completion import CompletionItem

        found = [value for value in self.values if value.startswith(incomplete)]
        return [CompletionItem(value) for value in found]


class GroupedOption(click.Option):
    """Option in a group of the help, possibly limited to some methods."""

    def __init__(
        self, *arguments: Any, group: str, of_method: bool = False, shown: str = "", **more: Any
    ) -> None:
        more["help"] += f"  [default: {shown}]" if shown else ""
        super().__init__(*arguments, **more)
        self.group, self.of_method = group, of_method


class Command(click.Command):
    """Command whose help shows options in groups.

    Its function gets one argument: an attribute for each option and argument. Options of methods
    are in the mapping ``of_method``, by name, as far as they were given.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function of the command; Ctrl-C goes to ``program.main``."""
        of_method = {p.name for p in self.params if getattr(p, "of_method", False)}
        own = {name: value for name, value in ctx.params.items() if name not in of_method}
        given = {
            str(name).replace("_", "-"): ctx.params[str(name)]
            for name in sorted(map(str, of_method))
            if ctx.params[str(name)] is not None
        }
        try:
            return ctx.invoke(_callback(self), SimpleNamespace(**own, of_method=given))
        except KeyboardInterrupt as error:
            raise InterruptError from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, then the groups in their order, then what belongs to none."""
        groups: dict[str, list[tuple[str, str]]] = {
            name: [] for name in ("Arguments", DATA, SEARCH, HONEST, OUTPUT, RUNNING, "Help")
        }
        for parameter in self.get_params(ctx):
            if isinstance(parameter, DescribedArgument):
                groups["Arguments"].append((str(parameter.metavar), parameter.text))
            elif (record := parameter.get_help_record(ctx)) is not None:
                groups[getattr(parameter, "group", "Help")].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _callback(command: click.Command) -> Callable[..., Any]:
    assert command.callback is not None
    return command.callback


class DescribedArgument(click.Argument):
    """Argument with a description in the help."""

    def __init__(self, name: str, metavar: str, text: str, kind: str = "file") -> None:
        super().__init__([name], metavar=metavar, type=ValueType(kind))
        self.text = text


class CommandOption(NamedTuple):
    """An option of a command.

    ``kind`` is a kind of value of ``values.py``, "flag", or nothing for text; ``flags`` are what is
    typed if not its name with dashes before it, ``shown`` stands in the help for the default,
    ``values`` are what a shell completes it with.
    """

    group: str
    metavar: str
    help: str
    kind: str = ""
    flags: str = ""
    shown: str = ""
    values: tuple[str, ...] = ()
    required: bool = False

    def as_click(self, name: str, default: str) -> GroupedOption:
        """The option of a command, with a default as it would be typed."""
        flags = [name.replace("-", "_"), *(self.flags or f"--{name}").split()]
        if self.kind == "flag":
            return GroupedOption(flags, group=self.group, help=self.help, is_flag=True)
        given: dict[str, Any] = {"default": default} if default else {}  # None would be a default
        return GroupedOption(
            flags,
            group=self.group,
            help=self.help,
            metavar=self.metavar,
            type=ValueType(self.kind, self.values),
            shown=self.shown or default,
            required=self.required,
            **given,
        )


# For the help, without loading what writes them.
LANGUAGES = {
    "c": "one C99 file, no allocation",
    "javascript": "one function",
    "python": "one module",
    "sql": "one expression, SQLite and DuckDB",
    "sql-probability": "the same for the probability of the second class",
    "onnx": "a graph; needs the onnx package",
    "json": "the formula as plain data",
}

COMMAND_OPTIONS = {
    "target": CommandOption(
        DATA,
        "COL",
        "Column to predict, by name or position (-1: the last). Required, except for svmlight.",
        flags="--target -t",
    ),
    "event": CommandOption(
        DATA,
        "COL",
        "For survival times: the target is a time, and this column says whether the event happened "
        "then (yes, true or 1) or the time is censored; 'status=dead' names the value. Fits a Cox "
        "model.",
        "event",
    ),
    "true-values": CommandOption(
        DATA, "COL", "Column of the true values: print the error too.", flags="--target -t"
    ),
    "id": CommandOption(DATA, "COL", "Column to put before the predictions, as the names of rows."),
    "rank-by": CommandOption(
        DATA,
        "COL",
        "Sort the rows by this column of the output, highest first, and add their rank: such as "
        "probability_yes, risk or prediction.",
    ),
    "drop": CommandOption(DATA, "A,B", "Columns to exclude from the features.", "names"),
    "rows": CommandOption(
        DATA, "COL=VALUE", "Rows to use, such as split=train or split!=test.", "rows"
    ),
    "keep-index": CommandOption(
        DATA,
        "",
        "Keep columns that only number the rows (an unnamed first column, or one that counts "
        "0, 1, 2, ...) as features.",
        "flag",
    ),
    "missing": CommandOption(
        DATA,
        "HOW",
        "Missing values: error (raise an error), median (impute the median or most frequent "
        "value), indicator (also mark them in a column), drop-rows, drop-columns.",
        kind="one_of",
        values=("error", "median", "indicator", "drop-rows", "drop-columns"),
    ),
    "dates": CommandOption(
        DATA,
        "HOW",
        "Dates: error (raise an error), parts (year, month, day, weekday, hour), or clock (times "
        "of day: an indicator for each weekday and hour; other dates as parts).",
        kind="one_of",
        values=("error", "parts", "clock"),
    ),
    "date-format": CommandOption(
        DATA,
        "FORMAT",
        "How dates are written, such as %d.%m.%Y for 31.12.2024, for all columns that fit or by "
        "column: 'sold=%d.%m.%Y,built=%m/%Y'.",
        "date_format",
    ),
    "transform-target": CommandOption(
        DATA,
        "SCALE",
        "Fit the target on another scale: log, log1p, sqrt, or auto (the scale, or none, that "
        "suits best). Errors and predictions stay in its own units.",
        kind="one_of",
        values=("log", "log1p", "sqrt", "auto"),
    ),
    "lags": CommandOption(
        DATA,
        "COL:1-24",
        "For rows in time order with even steps: also use the values of a column 1 to 24 rows "
        "before; the target may be one of them. Several between commas. Implies --validation time.",
        "lags",
    ),
    "horizon": CommandOption(
        DATA,
        "N",
        "Predict the target N rows later; its value now is then a feature, too. Implies "
        "--validation time.",
        "count",
    ),
    "categorical": CommandOption(
        DATA, "A,B", "Columns of numbers that are codes of categories, such as zip.", "names"
    ),
    "ordered": CommandOption(
        DATA,
        "SPEC",
        "Columns with ordered values, such as 'q1=low<mid<high'; q* means all that begin with q.",
        "ordered",
    ),
    "delimiter": CommandOption(DATA, "C", "Column separator of a text file (default: detected)."),
    "decimal": CommandOption(DATA, "C", "Decimal mark of a text file: . or , (default: detected)."),
    "encoding": CommandOption(
        DATA, "NAME", "Encoding of a text file, such as latin-1 or utf-16 (default: UTF-8)."
    ),
    "sheet": CommandOption(DATA, "NAME", "Sheet of a workbook; required if several have cells."),
    "names": CommandOption(
        DATA,
        "FILE",
        "Text file with one column name per line, for data without names: svmlight, npy, "
        "CSV without a header.",
        "file",
    ),
    "sample": CommandOption(
        DATA,
        "N",
        "Use N random rows, for a first look; N:SEED sets the seed (default: 0).",
        "sample",
    ),
    "weights": CommandOption(DATA, "COL", "Column of weights."),
    "groups": CommandOption(DATA, "COL", "Column of groups; folds keep groups together."),
    "method": CommandOption(
        SEARCH,
        "NAME",
        "Method, see below.",
        "method",
        shown="greedy-rls; grafting with --event",
        values=(*METHODS,),
    ),
    "methods": CommandOption(
        SEARCH,
        "A,B",
        f"Methods to compare, see below; also {', '.join(OTHER_SELECTORS)} of other tools.",
        "names",
        shown="those that suit the task and the size",
        values=(*METHODS, *OTHER_SELECTORS),
    ),
    "task": CommandOption(SEARCH, "T", f"{', '.join(TASKS)}.", "one_of", values=TASKS),
    "max-features": CommandOption(
        SEARCH, "K", "Largest size on the path.", "count", shown="as for select"
    ),
    "cv": CommandOption(
        SEARCH, "CV", "Cross-validation in the search: loo or a number of folds.", "cv"
    ),
    "size": CommandOption(
        SEARCH,
        "K",
        "Use the model with this many features instead of the recommended one.",
        "whole",
    ),
    "validation": CommandOption(
        HONEST,
        "N",
        "Outer folds for the error on new data, by which the size is chosen; loo: one row at a "
        "time; time: parts in row order, each predicted from the rows before it.",
        "folds",
        shown="10; 5 for nonlinear methods and auto",
    ),
    "no-validation": CommandOption(HONEST, "", "No honest error: faster.", "flag"),
    "folds": CommandOption(
        HONEST,
        "N",
        "Outer folds, the same for all methods; or loo, or time.",
        "folds",
        flags="--validation",
    ),
    "null": CommandOption(
        HONEST, "N", "Repeat the search on N shuffled targets, for a p-value.", "shuffles"
    ),
    "coefficients": CommandOption(
        HONEST,
        "N",
        "Bootstrap intervals of the coefficients from N resamples, and how often each feature is "
        "selected.",
        "resamples",
    ),
    "fdr": CommandOption(
        HONEST,
        "Q",
        "Which features are selected at this false discovery rate, such as 0.1, by knockoffs.",
        "level",
    ),
    "p-values": CommandOption(
        HONEST,
        "",
        "Selective p-values of the steps of greedy-rls, which allow for the search.",
        "flag",
    ),
    "stability": CommandOption(
        HONEST,
        "N",
        "Repeat the search on N random halves: are the same features selected?",
        "halves",
    ),
    "out": CommandOption(
        OUTPUT,
        "DIR",
        "Write results and an HTML report to this folder.",
        "file",
        flags="--out -o",
    ),
    "out-file": CommandOption(
        OUTPUT, "FILE", "Write here instead of to stdout.", "file", flags="--out -o"
    ),
    "out-table": CommandOption(
        OUTPUT, "FILE", "Write to this .csv, .parquet or .npy file.", "file", flags="--out -o"
    ),
    "model-format": CommandOption(
        OUTPUT,
        "F",
        "json: models as plain data; joblib: also the estimator, as a pickle.",
        "one_of",
        values=("json", "joblib"),
    ),
    "dtype": CommandOption(OUTPUT, "T", "double or float: onnx.", shown="double"),
    "page": CommandOption(OUTPUT, "FILE", "The page.", "file", flags="--out"),
    "to": CommandOption(
        OUTPUT, "NAME", "The language, see below.", "one_of", values=(*LANGUAGES,), required=True
    ),
    "json": CommandOption(OUTPUT, "", "Print one JSON document.", "flag"),
    "quiet": CommandOption(OUTPUT, "", "Print only the answer.", "flag"),
    "verbose": CommandOption(
        OUTPUT, "", "Print details: what the figures mean, corrections, settings.", "flag"
    ),
    "memory": CommandOption(
        RUNNING,
        "SIZE",
        "Read the data in passes, with at most this much memory, such as 2GB.",
        "size",
    ),
    "dask": CommandOption(RUNNING, "ADDRESS", "Address of a Dask cluster, or 'local'."),
    "resume": CommandOption(
        RUNNING, "", "Resume from --checkpoint FILE, which must exist.", "flag"
    ),
    "budget": CommandOption(
        RUNNING,
        "TIME",
        "Such as 90s, 5min or 1h: skip methods that would not finish in time.",
        "duration",
    ),
    "seed": CommandOption(RUNNING, "N", "Random seed.", "seed", shown="0"),
    "threads": CommandOption(
        RUNNING,
        "N",
        METHOD_OPTIONS["threads"].help,
        "count",
        flags="--threads --jobs",
        shown="one per core",
    ),
    "anyway": CommandOption(RUNNING, "", "Run even if the data have changed.", "flag"),
}


def method_options() -> list[click.Parameter]:
    """The options of all methods, from the table of methods."""
    made: list[click.Parameter] = []
    for name, option in METHOD_OPTIONS.items():
        flags = [name.replace("-", "_"), f"--{name}"]
        text = option.help.format(
            methods=" and ".join(having(name)), values=", ".join(option.values)
        )
        more: dict[str, Any] = {
            "metavar": option.metavar,
            "type": ValueType(option.kind, option.values),
        }
        if option.kind == "flag":
            flags[1], more = f"--{name}/--no-{name}", {"is_flag": True}
        if name == "threads":
            flags.append("--jobs")
        group = GROUPS.get(name, SEARCH)
        made.append(
            GroupedOption(
                flags,
                group=group,
                of_method=True,
                help=text,
                default=None,
                shown=option.default,
                **more,
            )
        )
    return made


def options(names: str) -> list[click.Parameter]:
    """Options of a command by their names in ``COMMAND_OPTIONS``; ``name=value`` has a default."""
    pairs = (each.partition("=") for each in names.split())
    return [COMMAND_OPTIONS[name].as_click(name, default) for name, _, default in pairs]


def examples(*commands: str, then: str = "") -> str:
    """Commands to copy, below the options, and more."""
    lines = "\n".join(f"  sparsepath {command}" for command in commands)
    return f"\b\nExamples:\n{lines}" + (f"\n\n\b\n{then}" if then else "")


def format_list(title: str, lines: Mapping[str, str]) -> str:
    """Names with a line for each, below the options."""
    width = max(map(len, lines))
    return "\n".join([title, *(f"  {name:{width}}  {text}" for name, text in lines.items())])


def list_of_methods() -> str:
    """Every method with its summary."""
    return format_list("Methods:", {name: method.summary for name, method in METHODS.items()})
