"""The options of all methods: one record per option, data only."""

from dataclasses import dataclass

from sparsepath.methods.method import OF_CLASSES, OF_COUNTS, OF_MARGINS, OF_NUMBERS, OF_ORDERS

LOSSES = (*OF_NUMBERS, *OF_CLASSES, *OF_MARGINS, *OF_ORDERS, *OF_COUNTS)
SEARCHES = ("forward", "floating", "backward", "swap", "strong", "exact")
STRATEGIES = ("both", "scaling", "swap")
TUNED = "chosen by cross-validation"


@dataclass(frozen=True)
class Option:
    """An option of a method."""

    parameter: str  # its name in Python
    kind: str  # of value: a key of READERS in cli/values.py, "flag" or "column"
    help: str  # one sentence; {methods} are those that have the option, {values} what it may be
    # The default of the estimators, as typed: "VALUE; VALUE for METHODS"; a test compares them.
    default: str = ""
    metavar: str = "N"  # what stands for the value in the help
    values: tuple[str, ...] = ()  # what it may be, if that is one of a few words


OPTIONS: dict[str, Option] = {
    "max-features": Option(
        "max_features",
        "count",
        "Largest size on the path.",
        default="all, at most 100; at most 10 for lssvm-forward; at most 20 for elm-fs",
        metavar="K",
    ),
    "choose": Option(
        "choose",
        "choose",
        "Size to use: one_se (smallest within one standard error of the least error), min, a "
        "number of features, or a fraction of the least error such as 0.05.",
        default="one_se",
        metavar="RULE",
    ),
    "cv": Option(
        "cv",
        "cv",
        "Cross-validation in the search: loo or a number of folds.",
        default="loo; 5 for grafting, mlp-grafting and rbf",
    ),
    "standardize": Option(
        "standardize",
        "flag",
        "Standardise columns for the penalty.",
        default="standardize",
        metavar="",
    ),
    "weights": Option("sample_weight", "column", "Column of sample weights.", metavar="COL"),
    "class-weight": Option(
        "class_weight",
        "class_weight",
        "Class weights: balanced (rare classes count as much as frequent ones), or as in "
        "yes=10,no=1.",
        default="by frequency",
        metavar="W",
    ),
    "threshold": Option(
        "threshold",
        "threshold",
        "When to predict the second of the two classes, chosen on held-out rows: balanced (least "
        "balanced error), f1, a probability such as 0.3, or costs such as 5:1 (a missed case "
        "costs 5 times a false alarm).",
        default="score zero",
        metavar="T",
    ),
    "groups": Option(
        "groups",
        "column",
        "Column of groups; the folds of --cv and --validation keep them whole, loo leaves out a "
        "group at a time. For rank-rls: the queries.",
        metavar="COL",
    ),
    "alpha": Option(
        "alpha",
        "alpha",
        "Ridge penalty: a number, several between commas (chosen by honest error), auto (chosen "
        "from two searches and seven refits; 1 without validation, and with ten rows or more per "
        "column), or loo (chosen with all features).",
        default="auto; 1 for rank-rls",
        metavar="A",
    ),
    "loss": Option(
        "loss",
        "loss",
        "{values}.",
        default="squared; logistic for grafting; zero-one for elm-fs",
        metavar="NAME",
        values=LOSSES,
    ),
    "search": Option(
        "search",
        "one_of",
        "Search of {methods}: {values}.",
        default="forward",
        metavar="NAME",
        values=SEARCHES,
    ),
    "time-budget": Option(
        "time_budget",
        "duration",
        "Time after which --search strong or exact ends with what it has, such as 30s or 10m; for "
        "--method auto: CPU time for all methods together.",
        default="none; ten times that of greedy-rls, 3s to 60s, for auto",
        metavar="TIME",
    ),
    "force": Option("forced", "names", "Features that every model contains.", metavar="A,B"),
    "forbid": Option("forbidden", "names", "Features that no model may contain.", metavar="A,B"),
    "start": Option(
        "start", "names", "Features to start from; the search may remove them.", metavar="A,B"
    ),
    "significance": Option(
        "stop",
        "level",
        "Stop when the best remaining feature is not significant at this level (max-T).",
        metavar="P",
    ),
    "l1": Option("l1", "penalty", "L1 penalty of {methods}.", default=TUNED, metavar="A"),
    "l2": Option("l2", "penalty", "L2 penalty of {methods}.", default="0", metavar="A"),
    "l0": Option(
        "l0",
        "penalty",
        "L0 penalty of {methods}.",
        default=f"0; {TUNED} for mlp-grafting",
        metavar="A",
    ),
    "max-hidden": Option(
        "max_hidden", "count", "Maximum number of hidden units of {methods}.", default="50"
    ),
    "r": Option("r", "budget", "Budget of {methods} for coefficients.", TUNED, metavar="A"),
    "t": Option("t", "budget", "Budget of {methods} for inputs.", TUNED, metavar="A"),
    "strategy": Option(
        "strategy",
        "one_of",
        "Search of {methods}: {values}.",
        default="both",
        metavar="NAME",
        values=STRATEGIES,
    ),
    "restarts": Option(
        "n_restarts",
        "count",
        "Random starts of {methods}.",
        default="40; 100 for mi-forward-backward",
    ),
    "neighbors": Option(
        "n_neighbors",
        "count",
        "Nearest neighbours for the mutual information estimate of {methods}.",
        default="6",
    ),
    "seed": Option("random_state", "seed", "Random seed.", default="0"),
    "threads": Option(
        "n_threads",
        "count",
        "Number of threads or worker processes; affects speed only.",
        default="one per core",
    ),
    "checkpoint": Option(
        "checkpoint",
        "file",
        "Save progress here, and resume from it if the file exists.",
        metavar="FILE",
    ),
}
