"""The page of a result: what is in it, and in a real browser what it does."""

import base64
import importlib
import json
import re
import shutil
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from slow_twins import rls
from sparsepath import (
    ELMFSRegressor,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    compare,
    stability,
)
from sparsepath.report import Seen, contest_page, page, summary
from sparsepath.report.outcome import Remark
from sparsepath.tables.cells import table_of

BROWSER = all(map(shutil.which, ("chromium", "chromedriver")))
browsing = pytest.mark.skipif(not BROWSER, reason="there is no Chromium with its driver")


def problem(m, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, 3 * X[:, 1] - 2 * X[:, 3] + X[:, 4] + rng.standard_normal(m)


def made(n=10, names=None, k=8, **more):
    import pandas as pd

    X, y = problem(80, n)
    names = [f"column {i}" for i in range(n)] if names is None else names
    model = SparseRLSRegressor(k, choose=3).fit(pd.DataFrame(X, columns=names), y)
    seen = Seen(pd.DataFrame(X, columns=names).to_numpy(), y)
    more = {"title": "A title", "answer": ["Use 3."], "chosen": 3, "seen": seen, **more}
    return model, X, summary(model.path_, model=model, **more)


def of_a_survey():
    """A page with eight features, three of them with five answers, and figures of two classes."""
    import pandas as pd

    rng = np.random.default_rng(3)
    answers = np.array(["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"])
    places = rng.integers(0, 5, (400, 8))
    table = pd.DataFrame(answers[places], columns=[f"question {i}" for i in range(8)])
    table = table.assign(**{f"number {i}": rng.normal(size=400) for i in range(16)})
    risk = places[:, 0] - places[:, 1] + places[:, 2] + table["number 0"] + table["number 1"]
    y = np.where(risk + table["number 2"] > 5, "yes", "no")
    model = TableSelector(SparseRLSClassifier(class_weight="balanced", choose=8), validation=3).fit(
        table, y
    )
    answer = [
        f"Line {i} of the answer, as long as a line of an answer usually is." for i in "12345"
    ]
    more = {"title": "A title", "answer": answer, "chosen": 8, "seen": Seen(table_of(table), y)}
    return summary(model.path_, model=model, **more)


def embedded(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found[1])


def test_a_page_holds_its_summary():
    model, _, told = made()
    text = page(told)
    assert embedded(text) == json.loads(json.dumps(told))
    assert told["schema"] == "sparsepath/report"
    path = model.path_
    for k, size in enumerate(path.sizes):
        assert [told["features"][p] for p in told["subsets"][k]] == list(path.names(size))
        assert told["coef"][k] == path.coef(size)[:, 0].tolist()
    assert not re.search(r'(?:src|href)="(?!#)', text), "nothing is fetched"


def test_what_is_told_of_each_feature():
    X, y = problem(80, 6)
    X[:, 0] = X[:, 1]
    X[:, 0] += 1e-3 * X[:, 2]
    model = SparseRLSRegressor(5, choose=4).fit(X, y)
    path, seen = model.path_, Seen(X, y)
    told = summary(path, title="", answer=[], chosen=4, model=model, seen=seen)
    subset = path.subset(4)
    coef = path.coef(4)[:, 0]
    expected = coef * X[:, subset].std(0) / y.std()
    np.testing.assert_allclose(told["weights"][4], expected, rtol=1e-12)
    assert told["rises"]["kind"] == "leave-one-out squared error"
    Z = X / X.std(0)  # as the penalty sees it
    for i, rise in zip(subset, told["rises"]["values"], strict=True):
        rest = [j for j in subset if j != i]
        without, _ = rls.loo_error(Z[:, rest], y[:, None], 1.0)
        assert rise == pytest.approx(without - path.error(4), rel=1e-6)
    alone = summary(path, title="", answer=[], chosen=1, model=model, seen=seen)["rises"]
    assert alone["values"] == [path.error(0) - path.error(1)]
    near = {told["features"][p]: dict(found) for p, found in enumerate(told["alike"])}
    assert near["x1"]["x0"] == pytest.approx(np.corrcoef(X[:, 0], X[:, 1])[0, 1])
    for of in told["sketches"]:
        assert sum(of["counts"]) == 80
        mean = np.average(of["means"], weights=of["counts"])
        assert mean == pytest.approx(y.mean(), abs=2e-3)


def test_weights_of_models_of_a_logarithm_are_not_in_units_of_the_target():
    X, _ = problem(150, 6)
    y = np.random.default_rng(5).poisson(np.exp(1 + X[:, 0]))
    model = SparseRLSRegressor(loss="poisson", choose=1, validation=None).fit(X, y)
    told = summary(model.path_, title="", answer=[], chosen=1, model=model, seen=Seen(X, y))
    assert not told["by_target"]
    coef = model.path_.model(1).formula().slopes[0, 0]
    np.testing.assert_allclose(told["weights"][1], [coef * X[:, 0].std()], rtol=1e-9)
    [start] = {each["start"] for name, each in told["starts"].items() if name == "x0"}
    assert start == float(f"{start:.4g}")


def test_the_increase_without_a_feature_has_the_class_weights():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 6))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(300) > 2, "yes", "no")
    model = SparseRLSClassifier(4, choose=2, class_weight="balanced", validation=None).fit(X, y)
    told = summary(model.path_, title="", answer=[], chosen=2, model=model, seen=Seen(X, y))
    sign = np.where(y == "yes", 1.0, -1.0)[:, None]
    weights = 150 / np.where(y == "yes", (y == "yes").sum(), (y == "no").sum())
    Z = X / np.sqrt(np.cov(X.T, aweights=weights, ddof=0).diagonal())
    for i, rise in zip(model.path_.subset(2), told["rises"]["values"], strict=True):
        rest = [j for j in model.path_.subset(2) if j != i]
        without, _ = rls.loo_error(Z[:, rest], sign, 1.0, sw=weights)
        assert rise > 0
        assert rise == pytest.approx(without - model.path_.error(2), rel=1e-6)


def test_a_feature_of_a_network_is_held_at_its_mean():
    X, y = problem(60, 5)
    model = ELMFSRegressor(3, choose=2, n_restarts=1, random_state=0).fit(X, y)
    told = summary(model.path_, title="", answer=[], chosen=2, model=model, seen=Seen(X, y))
    assert not told["rises"]["refitted"]
    assert told["rises"]["kind"] == "squared error on the data"
    now = np.mean((model.predict(X) - y) ** 2)
    for i, rise in zip(model.path_.subset(2), told["rises"]["values"], strict=True):
        held = X.copy()
        held[:, i] = X[:, i].mean()
        assert rise == pytest.approx(np.mean((model.predict(held) - y) ** 2) - now)


def test_names_cannot_end_a_script():
    bad = ["</script><script>throw 1</script>", "<!--", "{{code}}", "<b>", "&amp;", "'\"`"]
    _, _, told = made(6, bad, 5)
    text = page({**told, "title": "</title><script>", "answer": ["<i>"]})
    assert embedded(text)["features"] == told["features"]
    assert text.count("<script") == text.count("</script>") == 3
    assert "<p>&lt;i&gt;</p>" in text


def test_many_features_make_a_small_page():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 7000))
    y = np.where(X[:, 5] + X[:, 700] > 0, "yes", "no")
    model = SparseRLSClassifier(30, choose=5, validation=3).fit(X, y)
    seen = Seen(X, y)
    text = page(summary(model.path_, title="t", answer=[], chosen=5, model=model, seen=seen))
    assert len(text.encode()) < 200_000
    assert len(embedded(text)["features"]) <= 30


@contextmanager
def opened(tmp_path, text, width=1200):
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    (tmp_path / "page.html").write_text(text, "utf-8")
    options = Options()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get((tmp_path / "page.html").as_uri())
        yield driver
        assert driver.get_log("browser") == [], "no errors in the console"
    finally:
        driver.quit()


@browsing
@pytest.mark.parametrize("n", [10, 60, 7000])
def test_clicks_and_keys(n, tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    model, X, _ = made(n)
    halves = stability(model, *problem(80, n), n_halves=4)
    _, _, told = made(n, stability=halves)
    with opened(tmp_path, page(told)) as driver:

        def at(name):
            return driver.find_element(By.ID, name)

        def features():
            rows = at("features").find_elements(By.CSS_SELECTOR, "tbody th")
            return [row.text for row in rows]

        assert features() == list(model.path_.names(3))
        assert len(at("features").find_elements(By.CSS_SELECTOR, "svg.sketch")) == 3
        head = [cell.text for cell in at("features").find_elements(By.CSS_SELECTOR, "thead th")]
        assert {"coefficient", "weight", "increase without it"} < set(head)
        alike = any(told["alike"][p] for p in told["subsets"][told["sizes"].index(3)])
        assert ("most alike" in head) == alike
        assert "Stability" in at("chance").text
        at("size").send_keys(Keys.ARROW_RIGHT)
        assert "increase without it" not in at("features").text, "that is of the recommended size"
        assert features() == list(model.path_.names(4))
        assert at("size-said").text.startswith(f"4 of {n:,}")
        at("size").send_keys(Keys.HOME)
        assert at("h-chosen").text == "No feature"
        at("back").click()
        assert features() == list(model.path_.names(3))
        at("path").find_elements(By.CSS_SELECTOR, "tbody tr")[2].click()
        assert features() == list(model.path_.names(2))
        at("find").send_keys("column 3")
        shown = [t.text for t in at("map").find_elements(By.CSS_SELECTOR, "text:not(.faint)")]
        assert "column 3" in shown
        assert all("column 3" in name for name in shown)
        if n > 8:
            assert f"{n - len(told['features']):,} of {n:,} are never selected" in at("found").text
        at("back").click()
        for i, name in enumerate(model.path_.names(3)):
            at(f"in-{i}").clear()  # of the typical value with which it starts
            at(f"in-{i}").send_keys(repr(float(X[0, int(name.split()[1])])))
        found = float(at("predicted").text)
        import pandas as pd

        expected = model.predict(pd.DataFrame(X[:1], columns=model.feature_names_in_))[0]
        assert found == pytest.approx(expected, rel=1e-4)


@browsing
@pytest.mark.parametrize("which", ["path", "contest"])
def test_no_other_code_runs_and_nothing_is_fetched(which, tmp_path):
    text = page(made()[2]) if which == "path" else contest()
    hostile = (
        "<script>window.ran = 1</script><img src='x' onerror='window.ran = 2'>"
        "<svg onload='window.ran = 3'></svg><iframe srcdoc='<script>parent.ran = 4</script>'>"
        "</iframe><a id='link' href='javascript:window.ran = 5'>x</a>"
        "<base href='https://example.org/'><script src='data:text/javascript,ran=6'></script>"
    )
    with opened(tmp_path, text.replace("<main>", f"<main>{hostile}")) as driver:
        driver.execute_script("document.getElementById('link').click()")
        found = driver.execute_async_script(
            "const done = arguments[0];"
            "fetch('data:,x').then(() => done('fetched'), () => setTimeout("
            "  () => done([window.ran === undefined, document.baseURI.startsWith('file:')]), 300))"
        )
        assert found == [True, True]
        blocked = driver.get_log("browser")
        assert len(blocked) >= 7
        assert all("Content Security Policy" in each["message"] for each in blocked)
        if which == "path":  # what belongs there runs
            assert driver.execute_script("return document.querySelectorAll('#path tr').length") > 3


@browsing
@pytest.mark.parametrize("width", [500, 1200])
def test_nothing_of_the_features_is_out_of_sight(width, tmp_path):
    names = [f"a rather long name of column {i}" for i in range(20)]
    halves = stability(SparseRLSRegressor(8), *problem(80, 20), n_halves=10)
    _, _, told = made(20, names, stability=replace(halves, feature_names=tuple(names)))
    told["alike"][0] = [[names[9], 0.95], [names[11], -0.9]]
    with opened(tmp_path, page(told), width=width) as driver:
        cut = """const right = (node) => node.getBoundingClientRect().right;
          return [...document.querySelectorAll("#features td, #features th")].filter(
            (cell) => right(cell) > right(cell.closest(".card"))).map((cell) => cell.textContent)"""
        assert driver.execute_script(cut) == []
        heads = driver.execute_script(
            "return [...document.querySelectorAll('#features thead th')].map(c => c.textContent)"
        )
        cells = "return [...document.querySelectorAll('#features tbody tr')].map(r => r.cells[%d])"
        for column in range(len(heads)):
            found = driver.execute_script(
                cells % column + ".some(c => c.textContent || c.children.length)"
            )
            assert found, f"{heads[column]} has nothing to say"


@browsing
def test_paper_is_white_and_has_every_row(tmp_path):
    _, _, told = made(60, k=40)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    with opened(tmp_path, page(told)) as driver:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
        ink, paper, hidden = driver.execute_script(
            "const body = getComputedStyle(document.body);"
            "const cut = [...document.querySelectorAll('.scroll')].filter("
            "  (each) => each.scrollHeight > each.clientHeight + 1);"
            "return [body.color, body.backgroundColor, cut.length]"
        )
        assert (paper, hidden) == ("rgb(255, 255, 255)", 0)
        assert max(map(int, re.findall(r"\d+", ink)[:3])) < 100, "dark letters"


@browsing
def test_a_phone_needs_no_sideways_scrolling(tmp_path):
    _, _, told = made(60)
    with opened(tmp_path, page(told), width=500) as driver:
        wide, seen = driver.execute_script(
            "return [document.documentElement.scrollWidth, window.innerWidth]"
        )
        assert wide <= seen
        unlabelled = driver.execute_script(
            "return [...document.querySelectorAll('input')].filter(i => !i.labels.length).length"
        )
        assert unlabelled == 0


@browsing
@pytest.mark.parametrize("which", ["path", "contest", "table"])
def test_nothing_is_wider_than_a_phone(which, tmp_path):
    texts = {
        "path": lambda: page(made(30, [f"a_name_without_any_blank_{i}" for i in range(30)])[2]),
        "contest": contest,
        "table": lambda: from_table()[2],
    }
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    with opened(tmp_path, texts[which]()) as driver:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        driver.refresh()
        wide = driver.execute_script(
            "return [document.documentElement, ...document.querySelectorAll('.scroll')]"
            ".filter(e => e.scrollWidth > Math.max(e.clientWidth, 1)).map(e => e.innerHTML)"
        )
        assert [text[:80] for text in wide] == []


def contest():
    """Three methods on one problem, as a page."""
    import pandas as pd

    X, y = problem(60, 6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    return contest_page(
        compare(["greedy-rls", "lars", "grafting"], frame, y, validation=3), title="T"
    )


def from_table():
    """A model that takes a category, a flag and a date, as a page."""
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=90),
            "colour": rng.choice(["red", "blue", "green"], 90),
            "flag": rng.random(90) < 0.5,
            "day": pd.Timestamp("2024-01-05") + pd.to_timedelta(rng.integers(0, 300, 90), "D"),
        }
    )
    y = 3 * table["size"] + 5 * (table["colour"] == "red") + table["flag"] + table["day"].dt.month
    model = TableSelector(SparseRLSRegressor(choose=4), dates="parts").fit(table, y)
    told = summary(
        model.path_,
        title="Houses",
        answer=["Use 4."],
        chosen=4,
        model=model,
        seen=Seen(table_of(table), y.to_numpy()),
        columns=[Remark(("id", "no"), "left out by --drop", True)],
    )
    return model, table, page(told)


def test_curves_that_hide_each_other_are_told():
    X, y = problem(60, 6)
    models = [SparseRLSRegressor(4, choose=3, search=how) for how in ("forward", "floating")]
    found = compare({"a": models[0], "b": models[1], "c": SparseRLSRegressor(2)}, X, y)
    text = contest_page(found, title="T")
    assert "b, the same line as a<" in text
    assert text.count("the same line") == 1
    assert 'class="band"' in text
    shown = np.sqrt(found.best.left_out.errors)
    logarithmic = max(shown) > 10 * min(shown)
    assert ("The scale is logarithmic" in text) == logarithmic


@browsing
@pytest.mark.parametrize("which", ["path", "contest", "table"])
def test_nothing_is_in_the_way_of_a_screen_reader(which, tmp_path):
    axe = pytest.importorskip("axe_core_python.selenium").Axe()
    texts = {
        "path": lambda: page(made(20)[2]),
        "contest": contest,
        "table": lambda: from_table()[2],
    }
    with opened(tmp_path, texts[which]()) as driver:
        for scheme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            found = axe.run(driver)["violations"]
            assert [(v["id"], n["html"][:120]) for v in found for n in v["nodes"]] == []


@browsing
def test_a_category_and_a_date_are_filled_in_by_hand(tmp_path):
    from selenium.webdriver.common.by import By

    model, table, text = from_table()
    with opened(tmp_path, text) as driver:
        row = table.iloc[3]
        labels = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#inputs label")]
        for i, name in enumerate(labels):
            value = row[name]
            value = value.date().isoformat() if name == "day" else value
            value = str(bool(value)).lower() if name == "flag" else str(value)
            driver.execute_script(
                "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
                "e.dispatchEvent(new Event('input', {bubbles: true}));",
                f"in-{i}",
                value,
            )
        found = float(driver.find_element(By.ID, "predicted").text)
        assert found == pytest.approx(model.predict(table.iloc[[3]])[0], rel=1e-4)
        assert "red" in driver.find_element(By.ID, "features").text


@browsing
def test_downloads_are_the_model_in_every_language(tmp_path):
    from selenium.webdriver.support.ui import WebDriverWait

    runtime = pytest.importorskip("onnxruntime")
    model, X, told = made(names=["a", "=1+1", *"bcdefghi"][:10])
    folder = tmp_path / "downloads"
    with opened(tmp_path, page(told)) as driver:
        allowed = {"behavior": "allow", "downloadPath": str(folder)}
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
        links = driver.find_elements("css selector", "#downloads a")
        for link in links:
            link.click()
            file = folder / link.get_attribute("download")
            WebDriverWait(driver, 60).until(lambda _, file=file: file.exists())
    found = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert len(found) == len(links) == 8
    for language, name in (("c", "model.c"), ("sql", "model.sql"), ("python", "model.py")):
        assert found[name].decode() == model.export(language)
    assert found["model.js"].decode() == model.export("javascript")
    assert json.loads(found["model.formula.json"]) == json.loads(model.export("json"))
    (answers,) = runtime.InferenceSession(found["model.onnx"]).run(None, {"X": X})
    expected = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(answers[:, 0], expected, rtol=1e-12, atol=1e-12)
    assert json.loads(found["path.json"])["sizes"] == list(model.path_.sizes)
    lines = found["path.csv"].decode().splitlines()
    assert lines[0].startswith("size,error,error_se,error_kind")
    assert lines[2].endswith(',"\'=1+1"')


@browsing
def test_programs_and_prediction_follow_the_slider(tmp_path):
    model, X, told = made()
    chosen, other = len(model.selected_), len(model.path_.sizes) - 1
    assert chosen != other
    assert set(told["programs"]) >= {str(chosen), str(other)}
    with opened(tmp_path, page(told)) as driver:
        go = "const e = document.getElementById('size'); e.value = arguments[0];"
        go += "e.dispatchEvent(new Event('input', {bubbles: true}));"
        for size in (other, chosen):
            driver.execute_script(go, model.path_.sizes.index(size))
            assert f"with {size} features" in driver.find_element("id", "which").text
            assert len(driver.find_elements("css selector", "#inputs label")) == size
            names = [e.text for e in driver.find_elements("css selector", "#inputs label")]
            row = np.zeros((1, X.shape[1]))
            for i, name in enumerate(names):
                typed = driver.find_element("id", f"in-{i}").get_attribute("value")
                row[0, list(model.path_.feature_names).index(name)] = float(typed)
            expected = model.models_[size].predict(row)[0, 0]
            found = driver.find_element("id", "predicted").text.replace(",", "")
            assert float(found) == pytest.approx(expected, rel=1e-4)


def test_programs_of_every_size_until_the_page_is_full(monkeypatch):
    module = importlib.import_module("sparsepath.report.summary")
    model, _, told = made(k=10)
    assert told["programs"].keys() == {str(size) for size in model.path_.sizes if size} | {"0"}
    for size, programs in told["programs"].items():
        assert programs["python"] == model.export("python", size=int(size))
    monkeypatch.setattr(module, "ALL_PROGRAMS", 1)
    *_, told = made(k=10)
    assert [*told["programs"]] == [str(len(model.selected_))]


@browsing
@pytest.mark.validated
@pytest.mark.parametrize("classes", [False, True])
def test_printed_it_is_one_page(tmp_path, classes):
    told = of_a_survey() if classes else made(60, k=40)[2]
    with opened(tmp_path, page(told)) as driver:
        paper = {"paperWidth": 8.27, "paperHeight": 11.69}
        made_of = driver.execute_cdp_cmd("Page.printToPDF", paper)["data"]
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(made_of))) == 1


@browsing
def test_the_form_starts_with_typical_values_and_says_what_is_outside(tmp_path):
    from selenium.webdriver.common.by import By

    model, _, text = from_table()
    starts = embedded(text)["starts"]
    chosen = list(model.path_.names(len(model.selected_)))
    assert set(starts) >= set(chosen)
    with opened(tmp_path, text) as driver:
        labels = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#inputs label")]
        row = {}
        for i, name in enumerate(labels):
            field = driver.find_element(By.ID, f"in-{i}")
            row[name] = field.get_attribute("value")
            assert row[name] == str(starts[name]["start"]), name
        assert float(driver.find_element(By.ID, "predicted").text) > -1e9
        number = next(i for i, name in enumerate(labels) if name == "size")
        assert driver.find_element(By.ID, f"hint-{number}").text == ""
        driver.execute_script(
            "const e = document.getElementById(arguments[0]); e.value = '1e6';"
            "e.dispatchEvent(new Event('input', {bubbles: true}));",
            f"in-{number}",
        )
        assert "outside the data" in driver.find_element(By.ID, f"hint-{number}").text


def test_the_curve_is_in_known_units():
    model, _, told = made()
    shown, path = told["shown"], model.path_
    assert shown["name"] == "RMSE"
    np.testing.assert_allclose(shown["values"], np.sqrt(path.errors))
    np.testing.assert_allclose(shown["beside_values"], 1 - path.errors / path.errors[0])


@pytest.mark.validated
def test_a_criterion_of_another_unit_is_not_drawn():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = rng.poisson(np.exp(0.6 * X[:, 0])).astype(float)
    squares, counts = (SparseRLSRegressor(loss=loss).fit(X, y) for loss in ("squared", "poisson"))
    more = {"title": "A title", "answer": ["Use 1."], "chosen": 1, "seen": Seen(X, y)}
    told = [summary(each.path_, model=each, **more)["shown"] for each in (squares, counts)]
    assert told[0]["criterion"] is not None
    assert told[1]["name"] == "Poisson deviance"
    assert told[1]["criterion"] is None


@browsing
def test_classes_have_a_confusion_table_and_probabilities(tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 4))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(200) > 1, "yes", "no")
    model = SparseRLSClassifier(class_weight="balanced", choose=2, validation=4).fit(X, y)
    told = summary(model.path_, title="", answer=[], chosen=2, model=model, seen=Seen(X, y))
    assert told["shown"]["name"] == "balanced error"
    assert told["confusion"][2] == model.honest_.confusion
    expected = [1 - np.diag(t) / np.sum(t, axis=1) for t in told["confusion"]]
    np.testing.assert_allclose(told["shown"]["values"], [each.mean() for each in expected])
    with opened(tmp_path, page(told)) as driver:
        cells = driver.find_elements(By.CSS_SELECTOR, "#confusion tbody td.number")
        known = np.array(model.honest_.reliability)
        dots = driver.find_elements(By.CSS_SELECTOR, "#reliability circle")
        assert len(dots) == np.count_nonzero(known[:, 2])
        last = driver.find_elements(By.CSS_SELECTOR, "#recall circle title")[-1]
        text = last.get_attribute("textContent")
        share = np.mean(y == "yes")
        assert f"100 % of yes found, {100 * share:.0f} % of those called yes are" in text
        counts = [int(c.text) for i, c in enumerate(cells) if i % 3 < 2]
        assert counts == np.ravel(model.honest_.confusion).tolist()
        middle = np.array([[float(told["starts"][f"x{j}"]["start"]) for j in range(2)]])
        predicted = driver.find_element(By.ID, "predicted").text
        row = np.zeros((1, 4))
        row[:, :2] = middle
        shares = model.predict_proba(row)[0]
        assert predicted == (
            f"{model.predict(row)[0]} (no {100 * shares[0]:.1f} %, yes {100 * shares[1]:.1f} %)"
        )
        driver.find_element(By.ID, "size").send_keys(Keys.HOME)
        assert "the model with 0 features" in driver.find_element(By.ID, "which").text
