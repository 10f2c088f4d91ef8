# SPDX-License-Identifier: BSD-3-Clause
"""
=============================================
What are my own past searches worth?
=============================================

The same model is tuned again and again, on one data set after another. Its good
hyperparameters do not lie just anywhere. A density learned from earlier searches says
where to look first.
"""

# %%
# Six small problems stand for last year's work: pairs of digits in noisy images, to be
# told apart by a support vector machine. Each is searched, and its history is kept
# (journals on disk would do: ``EmpiricalDensity.from_histories`` takes paths).
import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from accsmbo import SMBOSearchCV

X, y = load_digits(return_X_y=True)
X = scale(X + np.random.default_rng(0).normal(scale=10, size=X.shape))
space = {"C": loguniform(1e-3, 1e4), "gamma": loguniform(1e-6, 1e1)}


def pair(a, b):
    """Return the images of two digits."""
    rows = (y == a) | (y == b)
    return X[rows], y[rows]


past = [
    SMBOSearchCV(SVC(), space, n_iter=20, cv=3, refit=False, random_state=0).fit(
        *pair(a, b)
    )
    for a, b in [(1, 7), (3, 8), (5, 9), (2, 3), (4, 9), (1, 8)]
]

# %%
# The density lives on the unit cube of the space; here it is drawn in the units of the
# parameters, with the best three of each past search. It is made of the best alone:
# only searches with 50 candidates or more lend three.
import matplotlib.pyplot as plt

from accsmbo import EmpiricalDensity

density = EmpiricalDensity.from_histories(past, half_life=None)
u = np.linspace(0, 1, 60)
grid = np.stack(np.meshgrid(u, u), axis=-1)
p = density.pdf(grid.reshape(-1, 2)).reshape(60, 60)
C, gamma = 1e-3 * 1e7**u, 1e-6 * 1e7**u

_, ax = plt.subplots(layout="constrained")
filled = ax.contourf(C, gamma, p, cmap="Greys")
ax.figure.colorbar(filled, label="density over uniform")
for search in past:
    order = np.argsort(search.cv_results_["rank_test_score"])[:3]
    best = [search.cv_results_["params"][i] for i in order]
    ax.plot([b["C"] for b in best], [b["gamma"] for b in best], "o")
ax.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
plt.show()

# %%
# A new problem, five seeds with the density and five without.
from accsmbo import AccSMBOSearchCV
from accsmbo.plotting import ConvergenceDisplay

new = pair(8, 9)
runs = {
    name: [
        AccSMBOSearchCV(
            SVC(),
            space,
            n_iter=10,
            cv=3,
            refit=False,
            density=prior,
            random_state=seed,
        ).fit(*new)
        for seed in range(5)
    ]
    for name, prior in {"with the past": density, "without": None}.items()
}
display = ConvergenceDisplay.from_history(runs)
plt.show()

# %%
# What to expect: a density helps with the first evaluations, hardly with the very best.
# On ranges as wide as these much of the gain comes from looking in the middle first;
# ``density.score_`` says how many nats it gives a left-out problem over the uniform
# one.
print(f"{density.n_tasks_} tasks, {density.score_:.2f} nats")
