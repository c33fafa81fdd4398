"""The page and figures of the grafting experiments, with the statements of the paper."""

import numpy as np
from matplotlib.figure import Figure

from grafting_figure2 import METHODS, SD
from grafting_problems import TABLE2
from results import PAGES, save_page, table
from sparsepath import MLPGraftingClassifier
from sparsepath.data.synthetic import THRESHOLD_MAX, threshold_max

NAMES = {
    "a": "(a) linear graft",
    "b": "(b) MLP graft",
    "c": "(c) linear, l1, gradient descent",
    "d": "(d) full MLP, l1, gradient descent",
    "e": "(e) linear SVM",
    "f": "(f) RBF SVM",
    "g": "(g) wrapper + RBF SVM",
    "h": "(h) filter + RBF SVM",
}
# Table 3, CPU seconds: linear graft, MLP graft, linear gradient descent, MLP gradient descent.
TABLE3 = {
    "A": (0.5, 12.1, 1.1, 14.6),
    "B": (0.5, 13.1, 0.9, 13.1),
    "C": (1.1, 0.6, 216.9, None),
    "D": (1.1, 9.4, 350.4, None),
    "E": (0.4, 3.3, 58.9, None),
}


def spread(values):
    values = values[~np.isnan(values)]
    if not len(values):
        return "-"
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def holds(claim, true):
    return f"- {claim}: **{'holds' if true else 'does not hold'}** here."


def clearly_below(a, b):
    """Whether the mean of a is below that of b by two standard errors of the paired difference.

    Over the instances that both have.
    """
    k = min(len(a), len(b))
    difference = b[:k] - a[:k]
    return difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(difference))


def verdict2(found):
    few = min(k for _, k in found)
    many = max(k for _, k in found)
    out = []
    for sd in SD:
        means = {k: dict(zip(METHODS, found[sd, k].mean(1), strict=True)) for k in (few, many)}
        a, b = means[few], means[many]
        out += [
            holds(f"sd {sd}: O2 beats O1 with {few} irrelevant features", a["O2"] < a["O1"]),
            holds(f"sd {sd}: O1 beats O2 with {many} irrelevant features", b["O1"] < b["O2"]),
            holds(
                f"sd {sd}: 'none' is the worst with {many} irrelevant features",
                b["none"] == max(b.values()),
            ),
            holds(
                f"sd {sd}: O0 is worse than O2 with {many} irrelevant features", b["O0"] > b["O2"]
            ),
        ]
    return out


def verdict3(found):
    def error(name, letter):
        lines = found[name, letter]
        return lines[:, 0].mean() if len(lines) else np.nan

    def salient(name, letter):
        return found[name, letter][:, 2].mean()

    def below(name, a, b):
        return clearly_below(found[name, a][:, 0], found[name, b][:, 0])

    here = {name for name, _ in found}
    if not here >= set("ABC"):
        return ["A plan without data sets A, B and C: no verdicts."]
    out = []
    for name in "AB":
        others = [error(name, x) for x in NAMES if x != "b" and len(found[name, x])]
        out += [
            holds(
                f"{name}: the MLP graft is the best by far ({error(name, 'b'):.3f}; the next "
                f"{min(others):.3f})",
                error(name, "b") < min(others) / 2,
            ),
            holds(
                f"{name}: its error is below 1 % (mean {error(name, 'b'):.3f}, median "
                f"{np.median(found[name, 'b'][:, 0]):.3f}, in {np.sum(found[name, 'b'][:, 0] < 0.01)} "
                f"of {len(found[name, 'b'])} instances)",
                error(name, "b") < 0.01,
            ),
            holds(f"{name}: its saliency is 1.00", round(salient(name, "b"), 2) == 1.0),
        ]
    linear = ", ".join(f"{error('A', x):.3f}" for x in "ace")
    out += [
        holds(
            f"A: the linear methods (a), (c), (e) are between .36 and .38 ({linear})",
            all(0.355 < error("A", x) < 0.385 for x in "ace"),
        ),
        holds("A: the filter helps the RBF SVM", below("A", "h", "f")),
        holds(
            "A: the filter is less salient than the linear graft",
            salient("A", "h") < salient("A", "a"),
        ),
        holds(
            "B: the filter is the worst",
            error("B", "h") >= np.nanmax([error("B", x) for x in NAMES]),
        ),
        holds("RBF SVM does badly on A, better on B", error("B", "f") < error("A", "f") - 0.05),
        holds(
            "C: only the plain SVMs beat chance clearly",
            np.nanmin([error("C", x) for x in NAMES if x not in "ef"])
            > 0.45
            > max(error("C", x) for x in "ef"),
        ),
        holds("C: the RBF SVM is the best by far", below("C", "f", "e")),
    ]
    if min(len(found[name, "g"]) for name in "AB") >= 3:
        out += [
            holds("A: the filter is better than the wrapper", below("A", "h", "g")),
            holds(
                "B: the wrapper makes no difference to the RBF SVM "
                f"({spread(found['B', 'g'][:, 0])} against {error('B', 'f'):.3f})",
                not below("B", "f", "g") and not below("B", "g", "f"),
            ),
        ]
    if ("D", "a") in found:
        share = found["D", "a"][:, 1].mean() / 649
        claim = f"D: the linear graft uses about 1 % of the features ({share:.1%})"
        out.append(holds(claim, share < 0.015))
        share = found["D", "b"][:, 1].mean() / 649
        claim = f"D: so does the MLP graft ({share:.1%})"
        out.append(holds(claim, share < 0.015))
        wrong = {x: 1000 * error("D", x) for x in NAMES if len(found["D", x])}
        most = sorted(wrong.values())[len(wrong) // 2]
        claim = f"D: most algorithms misclassify one of 1000 (median over algorithms: {most:.1f})"
        out.append(holds(claim, most < 1.5))
    if ("E", "a") in found:
        alike = [x for x in NAMES if len(found["E", x]) == len(found["E", "e"])]
        first, second = sorted(alike, key=lambda x: error("E", x))[:2]
        claim = (
            f"E: the linear SVM is the best of those with as many instances ({NAMES[first]} is, by "
            f"{error('E', second) - error('E', first):.3f} before {NAMES[second]}, "
            f"{'clearly' if below('E', first, second) else 'which is within the noise'})"
        )
        out.append(holds(claim, first == "e"))
        for x, kind in (("a", "linear"), ("b", "MLP")):
            rate, share = error("E", x), found["E", x][:, 1].mean() / 278
            claim = (
                f"E: the {kind} graft has an error near .25 with a small part of the features "
                f"({rate:.3f} with {share:.0%})"
            )
            out.append(holds(claim, rate < 0.275 and share < 0.1))
    return out


def times_of(found):
    """Table 3: seconds here, and both ratios here and in the paper."""
    rows = []
    for name, printed in TABLE3.items():
        if (name, "a") not in found:
            continue
        here = [found[name, x][:, 3].mean() if len(found[name, x]) else np.nan for x in "abcd"]
        ratios = [here[2] / here[0], here[3] / here[1]]
        paper = [printed[2] / printed[0], printed[3] and printed[3] / printed[1]]
        cells = [f"{value:.2g}" if value else "-" for value in (*ratios, *paper)]
        rows.append([name, *(f"{s:.3g}" for s in here), *cells])
    return rows


def verdict_times(found):
    """Whether grafting is faster than gradient descent, for linear models and for networks."""
    out = []
    for kind, graft, descent in (("linear", "a", "c"), ("MLP", "b", "d")):
        faster, slower = [], []
        for name in TABLE3:
            if (name, graft) in found and len(found[name, graft]) and len(found[name, descent]):
                a, b = (found[name, x][:, 3].mean() for x in (graft, descent))
                (faster if a < b else slower).append(f"{name} ({b / a:.2g})")
        claim = (
            f"{kind}: grafting is faster than gradient descent (faster on "
            f"{', '.join(faster) or 'none'}; slower on {', '.join(slower) or 'none'})"
        )
        out.append(holds(claim, not slower))
    return out


def found_table(penalties):
    """Table 2: printed penalties, those found here, and the error rates of both in five folds."""
    rows = []
    for (name, letter), (l1, l0, least, printed) in penalties.items():
        given = TABLE2[name][0 if letter == "a" else 1]
        both = f"{given[0]:g}, {given[1]:g}", f"{l1:.2g}, {l0:g}"
        rows.append([name, NAMES[letter], *both, f"{printed:.3f}", f"{least:.3f}"])
    return rows


def page(settings, fig2, fig3, on_c, penalties):
    rows2 = [
        [sd, k, *(f"{e.mean():.4f} ± {e.std(ddof=1) / np.sqrt(len(e)):.4f}" for e in errors)]
        for (sd, k), errors in fig2.items()
    ]
    rows3 = [
        [
            name,
            NAMES[letter],
            len(lines),
            spread(lines[:, 0]),
            "-" if np.isnan(lines[:, 1]).all() else f"{lines[:, 1].mean():.1f}",
            spread(lines[:, 2]),
            f"{lines[:, 3].mean():.3f}",
        ]
        for (name, letter), lines in fig3.items()
        if len(lines)
    ]
    searched = {letter for _, letter in penalties}
    skipped = ", ".join(NAMES[x] for x in "ab" if x not in searched)
    not_run = [f"{NAMES[x]} on {name}" for (name, x), lines in fig3.items() if not len(lines)]
    made = " --quick" if settings.quick else " --tiny" if settings.tiny else ""
    return f"""# Grafting: the paper's experiments

Perkins, Lacker and Theiler (2003). Written by `experiments/grafting.py{made}`. Means ± standard errors over instances.

## What holds

Figure 2: the best penalty by the number of irrelevant features (O0, O1, O2: L0, L1, L2):

{chr(10).join(verdict2(fig2))}

Figure 3 and Table 3: errors, features, saliency and times (A to E: data sets; (a) to (h): algorithms, as in Figure 3):

{chr(10).join([*verdict3(fig3), *verdict_times(fig3)])}

## Table 1: what each penalty is for

The assessments of the paper, and the results here that show them.

| | L0 | L1 | L2 | here |
| --- | --- | --- | --- | --- |
| models pragmatic reasons for selection | yes | no | no | `feature_costs` are factors of l0 |
| models reasons of performance | no | yes | yes | |
| sparse solutions | yes | yes | no | by the criterion |
| most features relevant | OK | good | excellent | Figure 2, no irrelevant features |
| most features irrelevant | poor | good | OK | Figure 2: L0 is better than L2 there |
| convex | no | yes | yes | by the criterion |
| numerical friendliness | poor | good | excellent | L1 and L2 end with a certificate (`dual_gap_`), L0 without |

## Figure 2: test errors by penalty and irrelevant features

{table(["sd", "irrelevant", *METHODS], rows2)}

![Figure 2](grafting_figure2.png)

{settings.sets} training sets of 20 samples per cell, test sets of 2000. Lambdas and the subset size were tuned on {settings.tune} other sets (7 values each; the size on half of
them). "none" is a ridge of 1e-5, because separable data have no unregularised optimum; O0 is backward elimination with that ridge.

## Table 2: penalties by five-fold cross-validation

Error rates by five-fold cross-validation on the first training set, over eight values of l1 and four of l0 (linear) or six of l1 and three of l0 (MLP, at most 40 connections).{f" Not run: {skipped}." if skipped else ""}

{table(["data", "graft", "printed l1, l0", "found l1, l0", "error with printed", "error with found"], found_table(penalties))}

## Figure 3: error, features, saliency, seconds

{table(["data", "algorithm", "instances", "test error", "features", "saliency", "seconds"], rows3)}

![Figure 3](grafting_figure3.png)

The penalties are those printed in Table 2; test data are new to every method. A, B and C are new draws for each instance. D and E are random splits of one data set, so their
standard errors are too small. SVMs see standardised features, with gamma = 1 / (number of features). (c) and (d) run L-BFGS-B on all weights, split into positive and negative
parts, and prune below 1e-4 of the largest; (d) has ten hidden units and at most 5000 iterations. (g) and (h) select ten features; (g) by the accuracy in three folds of the training
data.{f" Not run: {', '.join(not_run)}." if not_run else ""}

### Table 3: seconds, and ratio of gradient descent to grafting

CPU seconds of one thread on a shared machine. In the paper everything is Matlab; here (c) and (d) are SciPy's compiled L-BFGS-B. The paper's gradient descent for networks
did not converge on C, D and E; here it does.

{table(["data", "(a) s", "(b) s", "(c) s", "(d) s", "(c) / (a)", "(d) / (b)", "paper: (c) / (a)", "paper: (d) / (b)"], times_of(fig3))}

## Data set C with smaller l1

At the printed l1 (linear 0.2, MLP 0.1) no gradient of the empty model exceeds l1, and the model stays empty. l0 = 0.001, as printed; networks of at most 30 connections.

{table(["graft", "l1", "test error", "features", "saliency"], [[kind, l1, f"{e:.3f}", f"{k:.1f}", f"{s:.2f}"] for kind, l1, e, k, s in on_c])}

## A grown network

![MLP graft on data set A](grafting_network.png)
"""


def pictures(fig2, fig3):
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for ax, sd in zip(figure.subplots(1, 2), SD, strict=True):
        x = [k for s, k in fig2 if s == sd]
        for i, label in enumerate(METHODS):
            ax.plot(x, [fig2[sd, k][i].mean() for k in x], marker="o", label=label)
        ax.set(xlabel="irrelevant features", ylabel="test error", title=f"sd {sd}")
        ax.legend(frameon=False)
    figure.savefig(PAGES / "grafting_figure2.png", dpi=110)
    names = list(dict.fromkeys(name for name, _ in fig3))
    figure = Figure(figsize=(9, 8.4), layout="constrained")
    labels = ("test error", "features, logarithmic", "saliency")
    width = 0.8 / len(NAMES)
    for column, (ax, label) in enumerate(zip(figure.subplots(3, 1), labels, strict=True)):
        for i, (letter, text) in enumerate(NAMES.items()):
            shown = [fig3[name, letter][:, column] for name in names]
            heights = [values.mean() if len(values) else np.nan for values in shown]
            bars = [
                values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
                for values in shown
            ]
            x = np.arange(len(names)) + width * i
            ax.bar(x, heights, width, yerr=bars, error_kw={"linewidth": 0.8}, label=text)
        ax.set_xticks(np.arange(len(names)) + 0.35, names)
        ax.set(ylabel=label)
        if column == 1:
            ax.set_yscale("log")
        if column == 0:
            ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(PAGES / "grafting_figure3.png", dpi=110)
    problem = threshold_max(1000, *THRESHOLD_MAX["A"], random_state=0)
    model = MLPGraftingClassifier(l1=1e-6, l0=0.005, n_threads=1, validation=None).fit(
        problem.X, problem.y
    )
    model.plot_network().figure.savefig(PAGES / "grafting_network.png", dpi=110)


def write(settings, fig2, fig3, on_c, penalties):
    PAGES.mkdir(parents=True, exist_ok=True)
    pictures(fig2, fig3)
    save_page("grafting", page(settings, fig2, fig3, on_c, penalties))
