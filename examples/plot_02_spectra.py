"""
Spectra: which wavelengths tell the alcohol?
============================================

Infrared spectra of wines, 256 wavelengths each, and few wines. Neighbouring wavelengths are nearly copies of each other, so the question is not only which ones, but
whether the answer would be the same again.
"""

import matplotlib.pyplot as plt
import numpy as np

from sparsepath import SparseRLSRegressor, stability
from sparsepath.data.paper_sets import available, load

if "wine_spectra" in available():
    data = load("wine_spectra")
    X, y = np.asarray(data.X, dtype=float), data.y
    print(f"{data.source}: {X.shape[0]} wines, {X.shape[1]} wavelengths.")
else:
    print("The wine spectra are not here: these are made up of bumps.")
    rng = np.random.default_rng(0)
    amounts = rng.gamma(3.0, size=(124, 5))
    places = np.exp(
        -0.5 * ((np.arange(256) - np.array([[30], [90], [130], [180], [220]])) / 12) ** 2
    )
    X = amounts @ places + 0.02 * rng.standard_normal((124, 256))
    y = amounts[:, 2] + 0.1 * rng.standard_normal(124)

model = SparseRLSRegressor(12, alpha=[1e-4, 1e-2, 1.0], search="floating").fit(X, y)
print(model.honest_.sentence())
print("Wavelengths:", sorted(model.selected_.tolist()))

# %%
# The spectra, and the wavelengths that were chosen.

fig, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
order = np.argsort(y)
colours = plt.colormaps["viridis"](np.linspace(0, 1, len(y)))
for colour, spectrum in zip(colours, X[order], strict=True):
    ax.plot(spectrum, color=colour, lw=0.6, alpha=0.6)
for wavelength in model.selected_:
    ax.axvline(wavelength, color="crimson", lw=1.2)
ax.set(
    xlabel="wavelength",
    ylabel="absorption",
    xlim=(0, 255),
    title="dark: little alcohol, light: much",
)

# %%
# Would the same be chosen on other wines? The search again on halves of the data: one wavelength is taken in nearly all of them; for the others it is now one
# neighbour, now another, and some are seldom taken. That is what to expect of spectra, and a reason to read the answer as places, not as single wavelengths.

size = len(model.selected_)
halves = stability(SparseRLSRegressor(size, alpha=model.alpha_, validation=None), X, y, 40)
often = np.zeros(X.shape[1])
for name, part in halves.frequency(size).items():
    often[int(name[1:])] = part  # they are called x0, x1, ...
fig, ax = plt.subplots(figsize=(7.5, 2.4), layout="constrained")
ax.bar(range(len(often)), often, width=1.0, color="steelblue")
for wavelength in model.selected_:
    ax.axvline(wavelength, color="crimson", lw=0.8)
ax.set(
    xlabel="wavelength",
    ylabel="chosen in",
    xlim=(0, 255),
    title=f"{size} wavelengths, 40 halves of the wines",
)
