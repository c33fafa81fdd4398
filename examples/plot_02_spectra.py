"""
Spectra: which wavelengths predict a concentration?
===================================================

124 simulated infrared spectra of mixtures of five substances, 256 wavelengths each. The target is the amount of one substance. Neighbouring wavelengths are almost copies of each other, so the
question is not only which ones are selected, but whether the answer would be the same on other samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from sparsepath import SparseRLSRegressor, stability

rng = np.random.default_rng(0)
amounts = rng.gamma(3.0, size=(124, 5))
peaks = np.array([[30], [90], [130], [150], [220]])
bumps = np.exp(-0.5 * ((np.arange(256) - peaks) / 12) ** 2)
X = amounts @ bumps + 0.02 * rng.standard_normal((124, 256))
y = amounts[:, 2] + 0.1 * rng.standard_normal(124)  # its peak at 130 overlaps with the one at 150

model = SparseRLSRegressor(12, alpha=[1e-4, 1e-2, 1.0], search="floating").fit(X, y)
print(model.honest_.sentence())
print("Wavelengths:", sorted(model.selected_.tolist()))

# %%
# The spectra, coloured by the target, and the selected wavelengths. The model measures the substance on the flank of its peak at 130, and corrects for its neighbours at 90 and 150 with one wavelength each.

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
    title="dark: small amount, light: large amount; red: selected",
)

# %%
# Would the same wavelengths be selected on other samples? The search is repeated on 40 random halves of the data. The frequencies spread over neighbours: read the answer as regions of the
# spectrum, not as single wavelengths.

size = len(model.selected_)
halves = stability(SparseRLSRegressor(size, alpha=model.alpha_, validation=None), X, y, 40)
often = np.zeros(X.shape[1])
for name, part in halves.frequency(size).items():
    often[int(name[1:])] = part  # columns are called x0, x1, ...
fig, ax = plt.subplots(figsize=(7.5, 2.4), layout="constrained")
ax.bar(range(len(often)), often, width=1.0, color="steelblue")
for wavelength in model.selected_:
    ax.axvline(wavelength, color="crimson", lw=0.8)
ax.set(
    xlabel="wavelength",
    ylabel="selected in",
    xlim=(0, 255),
    title=f"{size} wavelengths, 40 random halves",
)
