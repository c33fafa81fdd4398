"""Statements of the ELM-FS paper about its figures and tables, and the results found here."""

from typing import Any

import numpy as np

from elmfs_problems import PROBLEMS, called
from results import table

# Tables 1 and 2: seconds of LARS, MI-FW, MI-FWBW and ELM-FS.
PAPER_SECONDS = {
    "xor": (1.2e-2, 1.0e2, 2.6e2, 3.1e2),
    "functional": (1.3e-2, 1.7e2, 5.1e2, 4.2e2),
    "diabetes": (1.7e-3, 1.2e1, 5.5e1, 6.0e1),
    "poland": (9.7e-3, 4.9e2, 2.1e3, 7.1e2),
    "santafe": (2.9e-2, 2.5e2, 7.0e2, 5.0e2),
    "anthrokids": (2.4e-2, 4.1e2, 3.3e3, 4.5e2),
}
POLAND_SEVEN = {  # the paper's subsets of seven features
    "LARS": (1, 6, 7, 14, 21, 23, 30),
    "MI-FW": (1, 7, 8, 14, 15, 21, 22),
    "MI-FWBW": (1, 7, 8, 14, 15, 21, 22),
    "Algorithm 1": (1, 3, 7, 8, 21, 22, 23),
    "ELM-FS": (1, 3, 7, 8, 21, 22, 23),
}
CLUSTERS = (*range(1, 4), *range(19, 22), *range(35, 40))  # of anthrokids, often selected
ALIKE = 1.1  # test errors up to this ratio are called similar


def statements(found: dict[str, Any]) -> list[str]:
    """The statements, and Tables 1 and 2, of the problems that were run."""
    out = ["## Statements", "", *(f"- {line}" for line in verdicts(found)), ""]
    if "poland" in found:
        out += poland(found["poland"])
    return [*out, "## Times (Tables 1 and 2)", "", *times(found), ""]


def times(found: dict[str, Any]) -> list[str]:
    titles = {problem.key: problem.title for problem in PROBLEMS}
    rows: list[list[object]] = [
        [titles[key], *(f"{s:.2g}" for s in each["seconds"].values()), *PAPER_SECONDS[key]]
        for key, each in found.items()
    ]
    heads = ["LARS", "MI-FW", "MI-FWBW", "Algorithm 1", "ELM-FS"]
    paper = [f"paper: {m}" for m in ("LARS", "MI-FW", "MI-FWBW", "ELM-FS")]
    faster = {
        rival: [titles[k] for k, e in found.items() if e["seconds"][rival] < e["seconds"]["ELM-FS"]]
        for rival in ("LARS", "MI-FW")
    }
    said = [
        f"{rival} is faster than ELM-FS on {', '.join(names) if names else 'none'}"
        for rival, names in faster.items()
    ]
    holds = all(len(names) == len(found) for names in faster.values())
    return [
        "CPU seconds up to the largest size in the figure, including the search for k, the number of neighbours.",
        "",
        table(["problem", *heads, *paper], rows),
        "",
        f"- LARS and MI-FW are faster than ELM-FS: {verdict(holds)} ({'; '.join(said)}).",
    ]


def verdict(holds: bool) -> str:
    return "**holds**" if holds else "**does not hold**"


def poland(found: dict[str, Any]) -> list[str]:
    rows: list[list[object]] = []
    for method, printed in POLAND_SEVEN.items():
        here = {i + 1 for i in found["subsets"][method].get("7", ())}
        rows.append(
            [
                method,
                called([i - 1 for i in printed]),
                called([i - 1 for i in here]),
                f"{len(here & set(printed))} of 7",
            ]
        )
    return [
        "Poland, subsets of seven features:",
        "",
        table(["method", "paper", "here", "in common"], rows),
        "",
    ]


def least(errors: dict[str, float] | list[float]) -> int:
    if isinstance(errors, dict):
        return int(min(errors, key=lambda size: errors[size]))
    return int(np.argmin(errors)) + 1


def verdicts(found: dict[str, Any]) -> list[str]:
    titles = {problem.key: problem.title for problem in PROBLEMS}
    out = []
    for key in ("xor", "functional", "poland", "santafe"):
        for method in ("Algorithm 1", "ELM-FS") if key in found else ():
            each = found[key]
            a, b = least(each["SET"][method]), least(each["tested"][method])
            c = least(each["own"][method])
            out.append(
                f"{titles[key]}, {method}: the size with the lowest SET has the lowest test error: "
                f"{verdict(a == b)} (SET at size {a}, test error at {b}, that of the scaled machine at {c})."
            )
    if "diabetes" in found:
        tested = found["diabetes"]["tested"]
        worse = all(
            min(tested[m][k] for m in ("MI-FW", "MI-FWBW"))
            > max(tested[m][k] for m in ("LARS", "Algorithm 1"))
            for k in "123"
        )
        out.append(
            "Diabetes: up to three features LARS and Algorithm 1 have lower test errors than MI-FW and "
            f"MI-FWBW: {verdict(worse)}."
        )
    if "poland" in found:
        tested = [found["poland"]["tested"][m]["7"] for m in POLAND_SEVEN]
        shown = ", ".join(f"{m} {t:.3g}" for m, t in zip(POLAND_SEVEN, tested, strict=True))
        out.append(
            f"Poland: with seven features test errors are similar: "
            f"{verdict(max(tested) <= ALIKE * min(tested))} ({shown}; similar: within {ALIKE - 1:.0%})."
        )
    if "santafe" in found:
        out += santa_fe(found["santafe"])
    if "anthrokids" in found:
        subsets = found["anthrokids"]["subsets"]
        for method in ("Algorithm 1", "ELM-FS"):
            chosen = [i + 1 for k in range(1, 10) for i in subsets[method].get(str(k), ())]
            share = np.mean(np.isin(chosen, CLUSTERS))
            out.append(
                f"Anthrokids, {method}: in the first nine sizes {share:.0%} of the selections are in "
                f"the clusters 1-3, 19-21 and 35-39 ({len(CLUSTERS) / 53:.0%} of the features)."
            )
    return out


def santa_fe(found: dict[str, Any]) -> list[str]:
    """LARS needs eight features to reach the test error of ELM-FS with four."""
    out = []
    for method in ("Algorithm 1", "ELM-FS"):
        four = called(found["subsets"][method]["4"])
        aim = found["tested"][method]["4"]
        first = {
            rival: next(
                (k for k, error in found["tested"][rival].items() if error <= ALIKE * aim), None
            )
            for rival in ("LARS", "MI-FW", "MI-FWBW")
        }
        shown = ", ".join(
            f"{rival} {'at no size' if k is None else f'with {k} features'}"
            for rival, k in first.items()
        )
        out.append(
            f"Santa Fe, {method}: {{1, 2, 4, 7}} at size four: {verdict(four == '{1, 2, 4, 7}')} "
            f"({four})."
        )
        out.append(
            f"Santa Fe, {method}: LARS needs eight features to reach the test error of four ({aim:.3g}): "
            f"{verdict(first['LARS'] == '8')} ({shown})."
        )
    return out
