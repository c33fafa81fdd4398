"""The job of ``sparsepath demo``: the main job on data that scikit-learn carries, and a page."""

import base64
from html import escape
from pathlib import Path

import numpy as np

from sparsepath.cli.results import FILES, MORE_FILES, picture, write_results
from sparsepath.cli.select import Outcome, Problem, search
from sparsepath.cli.show import heading, number_cells, number_columns, rows, sentence
from sparsepath.data.paper_sets import diabetes
from sparsepath.data.readers import Table, read_table, write_table
from sparsepath.errors import FileError, SparsepathError

TARGET = "progression"
IN_PAGE = (5.2, 3.4)  # inches of a picture, so that its letters are as large as the text

_STYLE = """
:root { --ink: #1d2733; --soft: #5b6875; --line: #dfe5ea; --accent: #0072b2; --page: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.1rem; margin: 0 0 .6rem; }
p { margin: 0 0 .5rem; }
.soft { color: var(--soft); font-size: .92rem; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 10px;
  padding: 1.25rem 1.4rem; margin-top: 1.25rem; overflow-x: auto; }
.answer { border-left: 5px solid var(--accent); font-size: 1.08rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(22rem, 1fr)); gap: 1.25rem; }
.pair { margin-top: 1.25rem; }
.pair .card { margin-top: 0; min-width: 0; }
img { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; text-align: left; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; font-size: .88rem; }
td.number, th.number { text-align: right; }
td, th { white-space: nowrap; }
tr.chosen td { background: #e8f3fa; font-weight: 600; }
@media (max-width: 26rem) { .pair { grid-template-columns: 1fr; } }
"""


MARK = '<meta name="generator" content="sparsepath demo">'


def refuse_others(folder: Path) -> None:
    """Refuse a folder that has files of these names which no demo has written."""
    there = [name for name in (*FILES, *MORE_FILES) if (folder / name).exists()]
    page = folder / "index.html"
    if there and not (page.is_file() and MARK in page.read_text("utf-8", "replace")):
        raise FileError(
            f"cannot write to {folder}: it has {there[0]}, which no demo wrote; name another "
            "folder with --out."
        )
    data = folder / "diabetes.csv"
    if data.is_file() and not _is_the_data(data):
        raise FileError(
            f"cannot write {data}: it is not as the demo wrote it; name another folder with --out."
        )


def _is_the_data(file: Path) -> bool:
    expected = diabetes()
    try:
        found = read_table(file, target=TARGET)
    except SparsepathError:
        return False
    return np.array_equal(found.X, expected.X) and np.array_equal(np.asarray(found.y), expected.y)


def solve(folder: Path, quiet: bool = False) -> Outcome:
    """Write the diabetes data as a file, and select from it."""
    data = diabetes()
    file = folder / "diabetes.csv"
    columns = {name: data.X[:, j] for j, name in enumerate(data.names)}
    write_table(file, {**columns, TARGET: data.y})
    return search(Problem(Table(data.X, data.y, data.names, TARGET, str(file))), {}, quiet=quiet)


def write_demo(outcome: Outcome, folder: Path) -> dict[str, Path]:
    """All that ``sparsepath select --out`` writes, and a page that shows it."""
    files = write_results(outcome, folder, {"index.html": page(outcome).encode()})
    more = {name: folder / name for name in ("index.html", "diabetes.csv")}
    return {**files, **more}


def page(outcome: Outcome) -> str:
    """One HTML page with everything in it; all text from the data is escaped."""
    *about, error = heading(outcome)
    every = rows(outcome)
    leaving = any(row.leaves for row in every)
    head = "".join(f'<th class="number">{name}</th>' for name in number_columns(outcome))
    head += "<th>enters</th>" + "<th>leaves</th>" * leaving + "<th></th>"
    body = []
    for row in every:
        numbers = "".join(
            f'<td class="number">{escape(cell)}</td>' for cell in number_cells(outcome, row)
        )
        texts = [row.enters, *([row.leaves] * leaving), row.mark]
        cells = numbers + "".join(f"<td>{escape(cell)}</td>" for cell in texts)
        kind = ' class="chosen"' if "chosen" in row.mark else ""
        body.append(f"<tr{kind}>{cells}</tr>")
    curve = _image(
        picture(outcome.path.plot_curve, "svg", IN_PAGE), "error against number of features"
    )
    path = _image(picture(outcome.path.plot_path, "svg", IN_PAGE), "features selected at each size")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{MARK}
<title>Which few features: {escape(Path(outcome.table.source).name)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Which few features, how many, and at what error</h1>
{"".join(f'<p class="soft">{escape(line)}</p>' for line in about)}
<div class="card answer"><p>{escape(sentence(outcome))}</p>
<p class="soft">{escape(error)}</p></div>
<div class="pair">
<div class="card"><h2>At what error</h2>{curve}</div>
<div class="card"><h2>Which features at which size</h2>{path}</div>
</div>
<div class="card"><h2>The path</h2>
<table><thead><tr>{head}</tr></thead>
<tbody>
{chr(10).join(body)}
</tbody></table></div>
</main>
</body>
</html>
"""


def _image(content: bytes, alt: str) -> str:
    code = base64.b64encode(content).decode()
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{code}">'
