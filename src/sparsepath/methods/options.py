"""Options that a method may have, by their names on the command line."""

from sparsepath.methods.method import Option

OF_NUMBERS = ("squared", "absolute", "huber", "log-cosh")  # losses of residuals, for classes too
OF_CLASSES = ("zero-one", "balanced", "auc")
OF_ORDERS = ("disagreement",)
LOSSES = (*OF_NUMBERS, *OF_CLASSES, *OF_ORDERS)
SEARCHES = ("forward", "floating", "backward", "swap")
STRATEGIES = ("both", "scaling", "swap")

OPTIONS: dict[str, Option] = {
    "max-features": Option(
        "max_features", "count", "Where the path ends.", "all, at most 100; 20 of elm-fs", "K"
    ),
    "choose": Option(
        "choose",
        "choose",
        "Size to use: one_se (smallest within one standard error of the least error), min, a "
        "number of features, or a fraction of the least error such as 0.05.",
        "one_se; min for rbf and lssvm-forward",
        "RULE",
    ),
    "cv": Option(
        "cv", "cv", "loo, or a number of folds.", "loo; 5 for grafting, mlp-grafting and rbf"
    ),
    "standardize": Option(
        "standardize", "flag", "Penalise as if all columns had unit variance.", "standardize", ""
    ),
    "weights": Option("sample_weight", "column", "Column of sample weights.", metavar="COL"),
    "groups": Option(
        "groups",
        "column",
        "Column of groups; the folds of --cv and --validation keep them whole, loo leaves out a "
        "group at a time. For rank-rls: the queries.",
        "10 folds; loo for rank-rls",
        "COL",
    ),
    "alpha": Option(
        "alpha",
        "alpha",
        "Ridge penalty: a number, several between commas (the best is used), or loo (chosen with "
        "all features).",
        "1",
        "A",
    ),
    "loss": Option("loss", "loss", "{values}.", "squared; zero-one of elm-fs", "NAME", LOSSES),
    "search": Option(
        "search", "one_of", "Search of {methods}: {values}.", "forward", "NAME", SEARCHES
    ),
    "force": Option("forced", "names", "Features that every model has.", metavar="A,B"),
    "forbid": Option("forbidden", "names", "Features that no model has.", metavar="A,B"),
    "start": Option(
        "start", "names", "Features to start from; they may be dropped again.", metavar="A,B"
    ),
    "significance": Option(
        "stop",
        "level",
        "Stop when the best feature left is not significant at this level (max-T).",
        metavar="P",
    ),
    "l1": Option("l1", "penalty", "L1 penalty of grafting, instead of many.", metavar="A"),
    "l2": Option("l2", "penalty", "L2 penalty of grafting.", metavar="A"),
    "l0": Option("l0", "penalty", "L0 penalty of grafting.", metavar="A"),
    "max-hidden": Option("max_hidden", "count", "Most hidden units of {methods}.", "50"),
    "r": Option("r", "budget", "Budget of {methods} for coefficients, instead of many.", "", "A"),
    "t": Option("t", "budget", "Budget of {methods} for inputs, instead of many.", "", "A"),
    "strategy": Option(
        "strategy", "one_of", "Search of {methods}: {values}.", "both", "NAME", STRATEGIES
    ),
    "restarts": Option(
        "n_restarts", "count", "Random starts of {methods}.", "40 of elm-fs, 100 of the other"
    ),
    "neighbors": Option(
        "n_neighbors", "count", "Neighbours by which {methods} tell how dense data are.", "6"
    ),
    "seed": Option("random_state", "seed", "Seed of methods that draw.", "0"),
    "threads": Option(
        "n_threads",
        "count",
        "Threads, or processes where a method works in those; only the speed changes.",
        "one per core",
    ),
    "checkpoint": Option(
        "checkpoint", "file", "Keep progress here, and go on from it if it is there.", "", "FILE"
    ),
}
