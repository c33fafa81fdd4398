"""The pictures of README.md, docs/start.md and the pages of the methods (pages need chromium).

python tools/pictures.py
"""

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from selenium import webdriver
from sklearn.datasets import load_breast_cancer, load_diabetes

from sparsepath import (
    ELMFSRegressor,
    GraftingClassifierCV,
    LarsSelector,
    LSSVMForwardRegressor,
    MutualInfoRegressor,
    SparseRBFRegressor,
    SparseRLSClassifier,
    SparseRLSRegressor,
)
from sparsepath.data.synthetic import bump, friedman, xor_like

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def answer() -> None:
    """Draw how many features, at what error, and which ones: five of a thousand matter."""
    rng = np.random.default_rng(1)
    n, p, noise = 120, 1000, 1.5
    X = rng.standard_normal((n, p))
    coef = np.zeros(p)
    coef[rng.choice(p, 5, replace=False)] = [2, 1.6, -1.4, 1.2, -1.0]
    y = X @ coef + noise * rng.standard_normal(n)
    model = SparseRLSRegressor(20).fit(X, y)
    path, honest = model.path_, model.honest_
    new = rng.standard_normal((20000, p))
    truth = new @ coef + noise * rng.standard_normal(len(new))
    for ending, ink, paper in (("", "#1b2733", "white"), ("-dark", "#e6e9ec", "#14181e")):
        colours = {
            "text.color": ink,
            "axes.edgecolor": ink,
            "axes.labelcolor": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "axes.facecolor": paper,
            "figure.facecolor": paper,
            "font.size": 11,
        }
        blue, orange, green = ("#0072B2", "#D55E00", "#009E73")
        if ending:
            blue, orange, green = ("#56B4E9", "#FF8C42", "#2BD4A4")
        with plt.rc_context(colours):
            figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
            sizes = list(path.sizes)
            left.plot(
                sizes, path.honest_errors, color=blue, lw=2.4, label="honest error (nested CV)"
            )
            real = [np.mean((truth - path.model(k).predict(new).ravel()) ** 2) for k in sizes]
            left.plot(sizes, real, "o", color=green, ms=5, label="true error, 20 000 new rows")
            left.plot(
                sizes, path.errors, "--", color=orange, lw=2, label="score of the search (CV)"
            )
            left.axvline(honest.size, color=ink, lw=1, ls=":")
            left.set(xlabel="number of features", ylabel="squared error", ylim=(0, None))
            left.xaxis.set_major_locator(plt.MultipleLocator(5))
            low, high = honest.interval
            left.annotate(
                f"use {honest.size} of {p} features\nexpected error {honest.error:.1f}\n"
                f"(90 % interval {low:.1f} to {high:.1f})",
                (honest.size, honest.error),
                (honest.size + 1.2, 6.6),
                va="center",
                arrowprops={"arrowstyle": "->", "color": ink},
            )
            left.legend(frameon=False, loc="upper right")
            left.spines[["top", "right"]].set_visible(False)
            ever = path.subset(12)
            for row, feature in enumerate(ever):
                inside = [k for k in sizes[:13] if feature in path.subset(k)]
                colour = blue if coef[feature] else orange
                strength = 1 if feature in path.subset(honest.size) else 0.35
                right.bar(inside, 0.8, 0.9, bottom=row - 0.4, color=colour, alpha=strength)
            right.set_yticks(range(len(ever)), [f"x{feature}" for feature in ever])
            right.set(xlabel="number of features", xlim=(0.4, 12.6), ylim=(len(ever) - 0.4, -0.6))
            right.axvline(honest.size + 0.5, color=ink, lw=1, ls=":")
            right.set_title("blue: relevant features; orange: noise", fontsize=11)
            right.spines[["top", "right"]].set_visible(False)
            figure.savefig(IMAGES / f"answer{ending}.png", dpi=100)
            plt.close(figure)


def methods() -> None:
    cancer = load_breast_cancer(return_X_y=True, as_frame=True)
    diabetes = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    smooth, pair = friedman(150, random_state=0), xor_like(400, random_state=0)
    fits = {
        "rls": (SparseRLSClassifier(10, search="floating"), *cancer),
        "grafting": (GraftingClassifierCV(max_features=10), *cancer),
        "kernel-rivals": (LSSVMForwardRegressor(7, validation=None), smooth.X, smooth.y),
        "elmfs": (ELMFSRegressor(5, n_restarts=5, random_state=0, validation=None), pair.X, pair.y),
        "mutual-information": (
            MutualInfoRegressor(7, random_state=0, validation=None),
            smooth.X,
            smooth.y,
        ),
        "lars": (LarsSelector(), *diabetes),
    }
    for name, (model, X, y) in fits.items():
        figure = model.fit(X, y).path_.plot()
        figure.savefig(IMAGES / f"{name}.png", dpi=80)
        plt.close(figure)
    data = bump(random_state=0)
    network = SparseRBFRegressor(r=5.95, t=4.67).fit(data.X, data.y)
    grid = np.tile(data.X.mean(axis=0), (300, 1))
    grid[:, 0] = np.linspace(data.X[:, 0].min(), data.X[:, 0].max(), 300)
    figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
    ax.plot(data.X[:, 0], data.y, ".", ms=4, color="grey", alpha=0.6, label="data")
    ax.plot(
        grid[:, 0],
        network.predict(grid),
        lw=2,
        label=f"network of {len(network.centres_)} Gaussians",
    )
    ax.set(xlabel="the input that was selected, of five", ylabel="y")
    ax.legend(frameon=False)
    figure.savefig(IMAGES / "rbf.png", dpi=80)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    answer()
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    figure = SparseRLSRegressor().fit(X, y).path_.plot()
    figure.savefig(IMAGES / "path.png", dpi=90)
    methods()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "sparsepath", "demo", "--out", folder],
            check=True,
            capture_output=True,
        )
        pages(Path(folder))


def pages(folder: Path) -> None:
    """The pages of the demo: in the light, in the dark, on a phone, and that of several methods."""
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    shots = {
        "page": ("index.html", 1100, 1150, "light"),
        "page-dark": ("index.html", 1100, 1150, "dark"),
        "page-phone": ("index.html", 390, 844, "light"),
        "compare": ("compare.html", 1100, 900, "light"),
    }
    with webdriver.Chrome(options=options, service=service) as browser:
        for name, (page, width, height, scheme) in shots.items():
            scheme_of = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme_of})
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            browser.get((folder / page).as_uri())
            picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
            picture.quantize(64).save(IMAGES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
