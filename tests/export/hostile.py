"""Names and texts that try to break out of a program, and what each language makes of a model."""

import json
import re
import sqlite3
import subprocess

import numpy as np
import pandas as pd

from sparsepath import SparseRLSClassifier, SparseRLSRegressor, TableSelector

WORDS = r"""
??/ ??/" ??/\ ???/ ?? ??= ??( ??) ??< ??> ??! ??- ??' %: <: :> *??/ ??/*/ ??//
*/ /* // /*/ */*/ -- # ; ' " ` \ \\ \" \' \n \x41 \u0041 \N{BULLET} \0 \777
''' \"\"\" '' "" '); %s %n %d {0} {} {{}} ${1} `${1}` #{1}
</script> <!-- --> ]]> <script>alert(1)</script> javascript: &amp; &lt; <b>
None null undefined NaN nan inf -inf Infinity true false True False __proto__ constructor toString
hasOwnProperty __class__ __name__ length select from where case end group order int double return
class def lambda import label scores variable X c0 v0 v1 c1 v10 row x out h i t u INPUTS MADE_OF
CLASSES LABELS COEF NAN NULL isnan strcmp main exp tanh rowid ROWID _rowid_ oid sqlite_master
1 0 -1 1e5 1_000 .5 0x10 1st é É ü ß ÿ Ω 漢字 😀 A a
"""
TEXTS = [
    *WORDS.split(),
    *(
        "",
        "a\nb",
        "a\rb",
        "a\r\nb",
        "a\tb",
        "\\\n",
        "//\\\n",
        "a b",
        " a",
        "a ",
        "  ",
        "a\0b",
        "\0",
    ),
    *("\x01", "\x07", "\x1b[31m", "\x7f", "a\xa0", "a\x85b", "a\u2028b", "a\u2029b", "\u202eabc"),
    *("\u200b", "\ufeff", "e\u0301", "👩\u200d👩\u200d👧", "*/ int x; /*", "x" * 300, "é" * 200),
    *("a in double", "a is missing", "a month", "a=b", "?" * 50, "\\" * 33, "' OR '1'='1"),
    '??/"}; int system(const char*); __attribute__((constructor)) void p(void){*(int*)0=1;} //',
    '"}; __attribute__((constructor)) void p(void){*(int*)0=1;} //',
    *("']; import os; os._exit(7); #", '"]; process.exit(7); //', "'; SELECT 1/0; --"),
    *("'); DROP TABLE data; --", '"); system("x"); //'),
]
PIECES = [
    *"?/\\\"'`*-#;%{}()[]<>=$&|!~^,.:_ \t\n\rabxyz019éΩ😀",
    "??",
    "??/",
    "*/",
    "/*",
    '"""',
    "\\u",
]


def text(rng):
    """A hostile text: one of those known, or pieces put together."""
    if rng.random() < 0.5:
        return TEXTS[rng.integers(len(TEXTS))]
    return "".join(PIECES[i] for i in rng.integers(len(PIECES), size=rng.integers(1, 9)))


def different(rng, count, fits=bool):
    """So many hostile texts."""
    found: dict[str, None] = {}
    while len(found) < count:
        made = text(rng)
        if fits(made):
            found[made] = None
    return [*found]


def is_value(made):
    """Whether a text is a value of a category: not blank, and no number, flag or date."""
    return made.strip() and re.search(r"[^\W\d]", made) and len(made) > 3


def fitted(rng):
    """A model of two columns of text and two of numbers, its rows, and how many classes it has."""
    m, names = 60, different(rng, 4)
    kinds = int(rng.integers(3))  # numbers, two classes, three
    columns = {}
    for name in names[:2]:
        values = np.array(different(rng, 3, is_value), dtype=object)
        columns[name] = values[rng.permutation(np.arange(m) % 3)]
    for name in names[2:]:
        columns[name] = rng.standard_normal(m)
    frame = pd.DataFrame(columns)
    y = sum(pd.factorize(frame[n])[0] for n in names[:2]) + frame[names[2]] - frame[names[3]]
    y = y.to_numpy(float)
    if kinds == 0:
        model = SparseRLSRegressor(choose=4, validation=None)
    else:
        labels = np.array(different(rng, kinds + 1), dtype=object)
        y = labels[np.digitize(y, np.quantile(y, [0.5] if kinds == 1 else [0.3, 0.6]))]
        model = SparseRLSClassifier(choose=4, validation=None)
    if rng.random() < 0.3:  # a model of plain numbers with such names
        plain = frame[names[2:]]
        return model.set_params(choose=2).fit(plain, y), plain
    return TableSelector(model).fit(frame, y), frame


def by_python(model, frame, folder):
    space: dict = {}
    exec(compile(model.export("python"), "model.py", "exec"), space)
    return [space["predict"](row) for row in frame.to_dict("records")]


def by_javascript(model, frame, folder):
    model.export("javascript", folder / "model.js")
    (folder / "rows.json").write_text(json.dumps(frame.to_dict("records")))
    program = (
        "const p = require('./model.js'), fs = require('fs');"
        "const rows = JSON.parse(fs.readFileSync('rows.json', 'utf8'));"
        "fs.writeFileSync('answer.json', JSON.stringify(rows.map(p)))"
    )
    done = subprocess.run(["node", "-e", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return json.loads((folder / "answer.json").read_text())


def by_sqlite(model, frame, folder):
    expression, base = model.export("sql"), sqlite3.connect(":memory:")
    quoted = ['"' + name.replace('"', '""') + '"' for name in frame.columns]
    base.execute(f"CREATE TABLE data ({', '.join(quoted)})")
    base.executemany(
        f"INSERT INTO data VALUES ({', '.join('?' * len(quoted))})", frame.values.tolist()
    )
    return [row[0] for row in base.execute(f"SELECT {expression} FROM data").fetchall()]


def by_duckdb(model, frame, folder):
    import duckdb

    with duckdb.connect() as base:
        quoted = ['"' + name.replace('"', '""') + '"' for name in frame.columns]
        kinds = ["DOUBLE" if frame[name].dtype == float else "VARCHAR" for name in frame]
        made = ", ".join(f"{q} {k}" for q, k in zip(quoted, kinds, strict=True))
        base.execute(f"CREATE TABLE data ({made})")
        marks = ", ".join("?" * len(quoted))
        base.executemany(f"INSERT INTO data VALUES ({marks})", frame.values.tolist())
        found = base.execute(f"SELECT {model.export('sql')} FROM data").fetchall()
    return [row[0] for row in found]


def by_onnx(model, frame, folder):
    import onnxruntime

    session = onnxruntime.InferenceSession(model.export("onnx"))
    inputs = {}
    if [each.name for each in session.get_inputs()] == ["X"] and "X" not in frame:
        inputs["X"] = frame.to_numpy(np.float64)
    else:
        for each in session.get_inputs():
            inputs[each.name] = frame[each.name].to_numpy()[:, None]
    return session.run(None, inputs)[0].ravel().tolist()


def by_c(model, frame, folder, standard="c99"):
    """The rows are given in the order of the fields, which is that of the columns in the model."""
    from sparsepath.models.export.subject import Subject

    def literal(value):
        if isinstance(value, str):
            return '"' + "".join(f"\\{byte:03o}" for byte in value.encode()) + '"'
        return float(value).hex()

    columns = Subject.of(model).columns
    rows = ",\n".join(
        "{" + ", ".join(literal(value) for value in row) + "}"
        for row in frame[columns].to_numpy(object).tolist()
    )
    labels = hasattr(model, "classes_")
    shown = "sparsepath_label(&rows[i])" if labels else "sparsepath_predict(&rows[i])"
    put = f"fputs({shown}, file)" if labels else f'fprintf(file, "%.17g", {shown})'
    (folder / "model.c").write_text(
        f"""{model.export("c")}
#include <stdio.h>
static const struct sparsepath_row rows[] = {{{rows}}};
int main(void) {{
    FILE *file = fopen("answer", "wb");
    for (int i = 0; i < {len(frame)}; i++) {{ {put}; putc(0, file); }}
    return fclose(file);
}}
"""
    )
    flags = [f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O0"]
    done = subprocess.run(
        ["cc", *flags, "model.c", "-lm", "-o", "model"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["./model"], cwd=folder, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    found = [text.decode() for text in (folder / "answer").read_bytes().split(b"\0")[:-1]]
    return found if labels else [float(text) for text in found]


LANGUAGES = {
    "python": by_python,
    "javascript": by_javascript,
    "sqlite": by_sqlite,
    "duckdb": by_duckdb,
    "onnx": by_onnx,
    "c99": by_c,
    "gnu11": lambda *given: by_c(*given, standard="gnu11"),
}
