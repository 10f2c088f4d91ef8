# SPDX-License-Identifier: BSD-3-Clause
"""
=============================
Has my search converged?
=============================

One run tells little: it may have been lucky. Five seeds of each method, as the median
and the band between the quartiles, tell how many candidates are enough.
"""

# %%
# An elastic net on the diabetes data has two hyperparameters that interact. The metric
# is the squared error, so that ``AccSMBOSearchCV`` can also use its derivative.
import warnings

from scipy.stats import loguniform, uniform
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet
from sklearn.model_selection import KFold

from accsmbo import AccSMBOSearchCV, SMBOSearchCV
from accsmbo.search import RandomizedSearchCV

X, y = load_diabetes(return_X_y=True)
space = {"alpha": loguniform(1e-5, 1e1), "l1_ratio": uniform(0.01, 0.98)}
options = {
    "n_iter": 20,
    "scoring": "neg_mean_squared_error",
    "cv": KFold(5, shuffle=True, random_state=0),
    "refit": False,
}

# %%
# Nearly unpenalised candidates do not converge; that is no concern here.
runs = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for cls in (AccSMBOSearchCV, SMBOSearchCV, RandomizedSearchCV):
        runs[cls.__name__] = [
            cls(ElasticNet(), space, random_state=seed, **options).fit(X, y)
            for seed in range(5)
        ]

# %%
# A mapping of names to lists of runs is all that the display wants. Histories and paths
# of journals work as well: a search can be watched while it runs.
import matplotlib.pyplot as plt

from accsmbo.plotting import ConvergenceDisplay

display = ConvergenceDisplay.from_history(runs)
display.ax_.set_ylim(bottom=-3100)
plt.show()

# %%
# A curve that has been flat for half of the budget says: enough. How far the seeds lie
# apart at the end says how much the result is worth.
import numpy as np

for name, searches in runs.items():
    best = np.array([search.best_score_ for search in searches])
    print(f"{name:20} worst {best.min():.2f}  median {np.median(best):.2f}")
