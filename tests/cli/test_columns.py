"""Columns that are no features, labels that are no numbers, and errors as people know them."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes
from sklearn.linear_model import Ridge

from sparsepath.data import readers
from sparsepath.data.readers import read_table, write_table

from .conftest import Run, refused

RNG = np.random.default_rng(0)
N = 60
Y = RNG.normal(size=N)
A, B = Y + RNG.normal(size=N), RNG.normal(size=N)


def table(folder: Path, columns: dict, name: str = "data.csv") -> Path:
    write_table(folder / name, columns)
    return folder / name


def unnamed(folder: Path, values: object = range(N)) -> Path:
    file = folder / "pandas.csv"
    rows = [f"{i},{a},{y}" for i, a, y in zip(values, np.sort(A), np.sort(Y), strict=True)]
    file.write_text("\n".join([",a,y", *rows]) + "\n")
    return file


# Indices


def test_an_index_without_a_name_is_left_out(run: Run, tmp_path: Path) -> None:
    file = unnamed(tmp_path)
    done = run("select", file, "--target", "y", "--quiet")
    assert done.err == (
        "Note: column 'x0' (the first one, without a name) numbers or names the rows and is left "
        "out; --keep-index takes it as a feature.\n"
    )
    assert done.out.startswith("Selected: 1 of 1 feature: a.")
    found = json.loads(run("select", file, "--target", "y", "--json").out)
    assert found["n_features"] == 1
    assert "'x0' (the first one, without a name) numbers" in found["notes"][0]
    kept = run("select", file, "--target", "y", "--keep-index", "--quiet")
    assert "Selected: 2 of 2 features: a, x0." in kept.out
    forced = run("select", file, "--target", "y", "--force", "x0", "--quiet")
    assert "x0" in forced.out
    assert "x0" in run("select", file, "--target", "x0", "--json").out
    assert run("select", file, "--target", "y", "--drop", "x0", "--quiet").err == ""


def test_row_names_without_a_name(run: Run, tmp_path: Path) -> None:
    file = unnamed(tmp_path, [f"car {i}" for i in range(N)])
    done = run("select", file, "--target", "y", "--quiet")
    assert done.code == 0
    assert "'x0' (the first one, without a name) numbers or names the rows" in done.err


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_a_column_that_counts_rows(run: Run, tmp_path: Path, start: int, ending: str) -> None:
    count = np.arange(N) + start
    file = table(tmp_path, {"week": count, "a": A, "y": Y}, f"data.{ending}")
    done = run("select", file, "--target", 2, "--json")
    record = json.loads(done.out)
    assert record["n_features"] == 1
    said = "numbers or names the rows" if ending == "npy" else "only numbers the rows"
    assert said in done.err
    out = tmp_path / "out"
    run("select", file, "--target", 2, "--out", out)
    assert run("predict", out / "model.json", file).code == 0


def test_what_does_not_count_rows(tmp_path: Path) -> None:
    columns = {
        "a": A,
        "shuffled": RNG.permutation(N),
        "from two": np.arange(N) + 2,
        "missing": np.where(np.arange(N) == 50, 0, np.arange(N)),
        "y": Y,
    }
    file = table(tmp_path, columns)
    assert read_table(file, target="y", keep_index=False).index == []
    short = table(tmp_path, {"count": [1, 2, 3], "y": [3, 1, 2]}, "short.csv")
    assert read_table(short, target="y", keep_index=False).names == ["count"]


def test_in_python_an_index_is_kept_unless_asked(tmp_path: Path) -> None:
    file = unnamed(tmp_path)
    assert read_table(file, target="y").names == ["x0", "a"]
    found = read_table(file, target="y", keep_index=False)
    assert (found.names, found.index) == (["a"], ["x0"])
    assert read_table(file, target="y", keep_index=["x0"]).names == ["x0", "a"]


# Leaks and ids


SEPARATES = (
    "Warning: column 'near' alone separates the classes (AUC 1.000) (on rows left out). Is it "
    "known before the target is? If not, leave it out: --drop near\n"
)
NEARLY = (
    "Warning: column 'near' is all but the target 'y' (correlation above 0.9995): if it is not "
    "known before the target is, leave it out by --drop near\n"
)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_column_that_is_the_target(run: Run, tmp_path: Path, kind: str) -> None:
    y = Y if kind == "numbers" else np.where(Y > 0, "yes", "no")
    leak = 2 * Y + 1 if kind == "numbers" else np.where(Y > 0, -3.5, 4.0)
    near = Y + 0.01 * B
    file = table(tmp_path, {"a": A, "leak, 2": leak, "near": near, "none": 0 * A + 0.1, "y": y})
    done = run("select", file, "--target", "y", "--quiet")
    assert done.code == 0
    assert done.err == (
        "Warning: column 'leak, 2' is the target 'y' up to a linear map (correlation 1): if it is "
        "not known before the target is, leave it out by --drop '\"leak, 2\"'\n"
        + NEARLY * (kind == "numbers")
        + "Note: column 'none' has only one value and no information.\n"
        + SEPARATES * (kind == "classes")
    )
    assert "of 4 features: 'leak, 2'" in done.out, "told, not taken away"
    dropped = run("select", file, "--target", "y", "--quiet", "--drop", '"leak, 2",near,none')
    assert dropped.err == ""


def test_copies_gaps_and_units_are_told(run: Run, tmp_path: Path) -> None:
    sick = Y > 0
    columns = {
        "a": A,
        "again": A,
        "cost": [f"{100 + a:.2f} CHF" for a in A],
        "died": np.where(sick, "2024-01-01", ""),
        "same": ["x"] * N,
        "y": sick,
    }
    options = ("--target", "y", "--missing", "median", "--dates", "parts", "--no-validation")
    done = run("select", table(tmp_path, columns), *options, "--out", tmp_path / "out")
    assert done.code == 0
    assert "Note: column 'again' is a copy of 'a'." in done.err
    assert "column 'died' is all but the target" in done.err, "it says so by where it is missing"
    assert "column 'cost' is text that was read as numbers in CHF" in done.err
    assert "column 'same' has only one value" in done.err
    assert run("plan", table(tmp_path, columns), *options).code == 0
    again = run("compare", table(tmp_path, columns), *options[:-1], "--methods", "greedy-rls")
    assert "column 'died' is all but the target" in again.err


def test_a_leak_in_a_sparse_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "leak.svm"
    X = np.column_stack([A, B, 3 * Y, 0 * A + 2])
    X[::3, 1] = 0
    dump_svmlight_file(X, Y, str(file), zero_based=False)
    assert "Warning: column 'x3' is the target" in run("select", file, "--quiet").err


def test_ids(run: Run, tmp_path: Path) -> None:
    columns = {
        "customer_id": RNG.permutation(10**6)[:N],
        "order": RNG.permutation(N) + 500,
        "income": RNG.permutation(10**6)[:N],
        "age": RNG.integers(20, 60, N),
        "a": A,
        "y": Y,
    }
    done = run("select", table(tmp_path, columns), "--target", "y", "--quiet")
    assert done.err == (
        "Note: columns 'customer_id', 'order' hold whole numbers that are all different; if these "
        "are ids, leave them out by --drop customer_id,order\n"
    )


def test_real_data_bring_no_note(run: Run, files: dict[str, Path]) -> None:
    for kind, target in (("csv", "progression"), ("iris", "kind")):
        assert run("select", files[kind], "--target", target, "--quiet").err == ""


# Labels, and numbers that cannot be squared


def test_labels_of_many_classes_are_pointed_out(run: Run, tmp_path: Path) -> None:
    X, labels = RNG.normal(size=(1000, 3)), RNG.integers(1, 40, 1000)
    dump_svmlight_file(X, labels, str(tmp_path / "labels.svm"), zero_based=False)
    write_table(tmp_path / "labels.csv", {"a": X[:, 0], "y": labels})
    words = "39 different whole numbers are taken as quantities (regression)"
    for file in ("labels.svm", "labels.csv"):
        options = ["select", tmp_path / file, "--target", "y", "--max-features", 1, "--quiet"]
        assert words in run(*options).err
        assert run(*options, "--task", "regression").err == ""
        assert run(*options, "--task", "classification").err == ""


@pytest.mark.parametrize(("scale", "words"), [(1e300, "up to"), (1e-200, "varies by")])
def test_a_target_whose_squares_are_no_numbers(run: Run, tmp_path, scale, words) -> None:
    file = table(tmp_path, {"a": A, "y": Y * scale})
    refused(run("select", file, "--target", "y"), "target 'y'", words, "power of ten")


def test_a_feature_whose_squares_are_no_numbers(run: Run, tmp_path: Path) -> None:
    file = table(tmp_path, {"a": A * 1e300, "y": Y})
    refused(run("select", file, "--target", "y"), "column 'a'", "squares")


# The sentence


def test_nothing_to_use_is_not_still_falling(run: Run, tmp_path: Path) -> None:
    (tmp_path / "flat.csv").write_text("a,b,y\n1,1,0\n1,1,1\n1,1,2\n")
    done = run("select", tmp_path / "flat.csv", "--target", "y", "--quiet")
    assert done.out.startswith("Selected: none of 2 features.")
    assert "falling" not in done.out
    X = RNG.normal(size=(300, 8))
    np.savez(tmp_path / "trifle.npz", X=X, y=X @ np.r_[1, 1, 1, 1, 1, 1e-3, 0, 0])
    done = run("select", tmp_path / "trifle.npz", "--target", "y", "--quiet", "--max-features", 7)
    assert "falling" not in done.out
    done = run("select", tmp_path / "trifle.npz", "--target", "y", "--quiet", "--max-features", 3)
    assert "still falling" in done.out


def test_all_chosen_features_are_named(run: Run, tmp_path: Path) -> None:
    X = RNG.normal(size=(200, 30))
    np.savez(tmp_path / "many.npz", X=X, y=X.sum(1))
    done = run("select", tmp_path / "many.npz", "--target", "y", "--quiet", "--choose", 30)
    assert all(f"x{j}" in done.out.replace(",", " ").replace(".", " ").split() for j in range(30))
    assert "more" not in done.out


def test_methods_by_their_other_names(run: Run, files: dict[str, Path]) -> None:
    for given, here in (("lasso", "grafting"), ("RFE", "backward-rls"), ("stepwise", "floating")):
        done = run("select", files["csv"], "--target", "progression", "--method", given)
        refused(done, f"--method {given} is not known (", f"called {here}")
        assert "did you mean" not in done.err
        assert f"{here}" in done.err.split("); use one of")[0]


# Errors as people know them


def test_rmse_and_r2(run: Run, files: dict[str, Path]) -> None:
    done = run("select", files["csv"], "--target", "progression", "--json")
    chosen = json.loads(done.out)["chosen"]
    X, y = load_diabetes(return_X_y=True, scaled=False)
    Z = X[:, chosen["columns"]] / X[:, chosen["columns"]].std(axis=0)
    off = [y[i] - fit(Z, y, i).predict(Z[[i]])[0] for i in range(len(y))]
    empty = [y[i] - np.delete(y, i).mean() for i in range(len(y))]
    assert chosen["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(off))), rel=1e-9)
    assert chosen["r2"] == pytest.approx(1 - np.sum(np.square(off)) / np.sum(np.square(empty)))
    words = run("select", files["csv"], "--target", "progression", "--quiet").out
    assert f"larger than RMSE {chosen['rmse']:.4g}, R2 {chosen['r2']:.3f}, by the" in words


def fit(Z: np.ndarray, y: np.ndarray, *without: int) -> Ridge:
    return Ridge(alpha=1.0).fit(np.delete(Z, without, axis=0), np.delete(y, without))


def test_error_rate_and_auc(run: Run, tmp_path: Path) -> None:
    m = 40
    X = RNG.normal(size=(m, 6))
    y = np.where(X[:, 0] + X[:, 3] + RNG.normal(size=m) > 0.3, "yes", "no")
    columns = {f"c{j}": X[:, j] for j in range(6)}
    file = table(tmp_path, {**columns, "y": y})
    greedy = ("select", file, "--target", "y", "--method", "greedy-rls")
    chosen = json.loads(run(*greedy, "--json").out)["chosen"]
    Z = X[:, chosen["columns"]] / X[:, chosen["columns"]].std(axis=0)
    code = np.where(y == "yes", 1.0, -1.0)
    wrong = [(fit(Z, code, i).predict(Z[[i]])[0] > 0) != (code[i] > 0) for i in range(m)]
    assert chosen["error_rate"] == pytest.approx(np.mean(wrong))
    right = []
    for i in np.flatnonzero(code > 0):
        for j in np.flatnonzero(code < 0):
            of_i, of_j = fit(Z, code, i, j).predict(Z[[i, j]])
            right.append(of_i > of_j)
    assert chosen["auc"] == pytest.approx(np.mean(right))
    automatic = json.loads(run(*greedy[:-2], "--json").out)["chosen"]  # without validation: greedy
    assert [automatic[key] for key in ("error_rate", "auc")] == [
        chosen["error_rate"],
        chosen["auc"],
    ]
    words = run(*greedy, "--quiet").out
    assert f"larger than error rate {100 * chosen['error_rate']:.3g} %, AUC" in words
    zero_one = json.loads(run(*greedy, "--loss", "zero-one", "--json").out)
    assert "error_rate" not in zero_one["chosen"], "it is the criterion"


# Reading


def test_the_file_is_read_once(run: Run, tmp_path: Path, monkeypatch) -> None:
    file = table(tmp_path, {"a": A, "b": B, "w": np.abs(B) + 1, "g": np.arange(N) % 5, "y": Y})
    calls = []
    real = readers.read_columns
    monkeypatch.setattr(readers, "read_columns", lambda *a, **k: calls.append(a) or real(*a, **k))
    done = run("select", file, "--target", "y", "--weights", "w", "--groups", "g", "--json")
    assert json.loads(done.out)["n_features"] == 2
    assert len(calls) == 1
    refused(run("select", file, "--target", "y", "--weights", "-1"), "'y' is the target")


def test_rows_that_are_not(run: Run, tmp_path: Path) -> None:
    part = np.array(["train", "test", "other"])[np.arange(N) % 3]
    file = table(tmp_path, {"a": A, "part": part, "y": Y})
    done = run("select", file, "--target", "y", "--rows", "part!=test", "--json")
    assert json.loads(done.out)["n_samples"] == np.count_nonzero(part != "test")
    refused(run("select", file, "--target", "y", "--rows", "part!"), "split!=train")
    one = table(tmp_path, {"a": A, "part": np.full(N, "test"), "y": Y}, "one.csv")
    refused(run("select", one, "--target", "y", "--rows", "part!=test"), "every row has 'part'")


def test_the_example_is_what_is_wrong(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cell.csv"
    file.write_text("age,split,y\n59.0,a,1\n,a,1\n60,b,2\nn.d.,a,3\n61,a,4\n")
    words = "column 'age' is numbers except 'n.d.' in row 4"
    refused(run("select", file, "--target", "y", "--drop", "split"), words)
    refused(run("select", file, "--target", "y", "--rows", "split=a"), words)
    file.write_text("age,y\n1,1\n" + "z" * 10_000 + ",2\n")
    done = run("select", file, "--target", "y")
    refused(done, "'zzzzz")
    assert len(done.err) < 500 + 2 * len(str(file))
    file.write_text("a" * 10_000 + ",y\nu,1\nv,2\n")
    done = run("select", file, "--target", "y")
    assert len(done.err) < 500 + 2 * len(str(file))


@pytest.mark.parametrize("text", [False, True])
def test_rows_without_a_target(run: Run, tmp_path: Path, text: bool) -> None:
    labels = np.where(Y > 0, "up", "down")
    told = [str(v) for v in (labels if text else Y)]
    told[3] = told[7] = ""
    rows = [f"{a},{b},{y}" for a, b, y in zip(A, B, told, strict=True)]
    file = tmp_path / "gaps.csv"
    file.write_text("\n".join(["a,b,y", *rows]))
    kept = [row for i, row in enumerate(rows) if i not in (3, 7)]
    (tmp_path / "kept.csv").write_text("\n".join(["a,b,y", *kept]))
    refused(run("select", file, "-t", "y"), "in 2 of 60 rows", "(--missing drop-rows)")
    done = run("select", file, "-t", "y", "--missing", "drop-rows", "--quiet")
    assert "Note: 2 rows without a value of 'y' left out." in done.err
    assert done.out == run("select", tmp_path / "kept.csv", "--target", "y", "--quiet").out


def test_every_column_with_gaps_is_named(run: Run, tmp_path: Path) -> None:
    gaps = {f"gap{i}": np.where(np.arange(N) == i, np.nan, A) for i in range(12)}
    done = run("select", table(tmp_path, {"a": A, **gaps, "y": Y}), "--target", "y")
    refused(done, *(f"'gap{i}'" for i in range(12)))


def test_text_that_is_not_utf8(run: Run, tmp_path: Path) -> None:
    towns = np.array(["Köln", "Bonn"])[np.arange(N) % 2]
    rows = [f"{a},{town},{y}" for a, town, y in zip(A, towns, Y, strict=True)]
    file = tmp_path / "towns.csv"
    file.write_bytes("\n".join(["a,town,y", *rows]).encode("latin-1"))
    done = run("select", file, "--target", "y")
    refused(done, "column 'town' is not UTF-8 text", "--encoding latin-1")
    assert run("select", file, "--target", "y", "--drop", "town", "--quiet").code == 0
    done = run("select", file, "--target", "y", "--encoding", "latin-1", "--json")
    assert json.loads(done.out)["n_features"] == 2


def test_nothing_to_use_in_a_table(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {"a": rng.choice(["x", "z"], N), "b": rng.normal(size=N), "y": rng.normal(size=N)}
    done = run(
        "select",
        table(tmp_path, columns),
        "--target",
        "y",
        "--choose",
        "0",
        "--out",
        tmp_path / "out",
    )
    assert (done.code, "Selected: none of 2 features." in done.out) == (0, True)
    assert (tmp_path / "out" / "index.html").is_file()
    refused(run("export", tmp_path / "out" / "model.json", "--to", "onnx"), "uses no column")


# Names, and a draw of rows


def test_names_for_columns_that_have_none(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    words, few = tmp_path / "words.txt", tmp_path / "few.txt"
    words.write_text("\n".join(load_diabetes().feature_names) + "\n")
    few.write_text("a\nb\n")
    for kind in ("svm", "npy"):
        out = tmp_path / kind
        target = ["--target", "-1"] if kind == "npy" else []
        options = (*target, "--names", words, "--no-validation", "--quiet")
        done = run("select", files[kind], *options, "--out", out)
        assert "Selected: 3 of 10 features: bmi, s5, bp." in done.out
        assert "age" in run("select", files[kind], *options, "--force", "age").out
        found = run("predict", out / "model.json", files[kind]).out
        run("select", files[kind], *target, "--no-validation", "--out", out)
        assert found == run("predict", out / "model.json", files[kind]).out != ""
        done = run("select", files[kind], *target, "--names", few)
        refused(done, "few.txt has 2 names, one a line, and", f"has {11 if target else 10} columns")
    refused(run("select", files["csv"], "--target", "sex", "--names", few), "its own names")


def test_a_draw_of_rows(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    options = ("--target", "progression", "--method", "greedy-rls", "--no-validation", "--json")
    drawn = [
        json.loads(run("select", files["csv"], *options, "--sample", n).out)
        for n in ("100", "100:1", "9999")
    ]
    assert [each["n_samples"] for each in drawn] == [100, 100, 442]
    assert drawn[0]["notes"][0] == (
        "Note: 100 of 442 rows were drawn (seed 0); the others are not used."
    )
    assert drawn[0]["path"]["data"]["fingerprint"] != drawn[1]["path"]["data"]["fingerprint"]
    assert drawn[2]["notes"] == []
    refused(run("select", files["csv"], *options, "--sample", "0"), "--sample 0 must be")
