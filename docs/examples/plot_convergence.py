# SPDX-License-Identifier: BSD-3-Clause
"""
=============================
Has my search converged?
=============================

One run tells little: it may have been lucky. Several seeds of each method, as the
median and the band between the quartiles, tell how many candidates are enough.
"""

# %%
# Support vector regression on the diabetes data: three hyperparameters that interact,
# on wide ranges. ``AccSMBOSearchCV`` also uses the derivatives of ``r2`` by all three.
from scipy.stats import loguniform
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale
from sklearn.svm import SVR

from accsmbo import AccSMBOSearchCV, SMBOSearchCV
from accsmbo.search import RandomizedSearchCV

X, y = load_diabetes(return_X_y=True)
X, y = scale(X), scale(y)
space = {
    "C": loguniform(1e-3, 1e4),
    "gamma": loguniform(1e-6, 1e1),
    "epsilon": loguniform(1e-3, 1e0),
}
options = {
    "n_iter": 20,
    "scoring": "r2",
    "cv": KFold(3, shuffle=True, random_state=0),
    "refit": False,
}
runs = {
    cls.__name__: [
        cls(SVR(), space, random_state=seed, **options).fit(X, y) for seed in range(4)
    ]
    for cls in (AccSMBOSearchCV, SMBOSearchCV, RandomizedSearchCV)
}

# %%
# A mapping of names to lists of runs is all that the display wants. Histories and paths
# of journals work as well: a search can be watched while it runs.
import matplotlib.pyplot as plt

from accsmbo.plotting import ConvergenceDisplay

display = ConvergenceDisplay.from_history(runs)
display.ax_.set_ylim(bottom=0.3)
plt.show()

# %%
# A curve that has been flat for half of the budget says: enough. How far the seeds lie
# apart at the end says how much the result is worth.
import numpy as np

for name, searches in runs.items():
    best = np.array([search.best_score_ for search in searches])
    print(f"{name:20} worst {best.min():.3f}  median {np.median(best):.3f}")
