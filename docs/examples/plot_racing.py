# SPDX-License-Identifier: BSD-3-Clause
"""
==========================================
How many fits does racing save?
==========================================

A search over ten folds fits every candidate ten times, although the first fold or two
have already ruled most of them out. With ``selection=Racing()`` the folds of a
candidate run one after the other, and it is dropped as soon as it loses against the
best so far.
"""

# %%
# A support vector machine on the breast cancer data, on ranges so wide that most
# candidates are bad. The same search without and with racing.
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from accsmbo import SMBOSearchCV
from accsmbo.fidelity import Racing

X, y = load_breast_cancer(return_X_y=True)
searches = {
    name: SMBOSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": loguniform(1e-3, 1e4), "svc__gamma": loguniform(1e-6, 1e1)},
        n_iter=25,
        cv=StratifiedKFold(10, shuffle=True, random_state=0),
        scoring="roc_auc",
        selection=selection,
        random_state=0,
    ).fit(X, y)
    for name, selection in {"all folds": None, "racing": Racing()}.items()
}

# %%
# The best is always a candidate with all its folds, and its score is the one that it
# has without racing.
for name, search in searches.items():
    n_folds = search.cv_results_.get("n_folds_run")
    n_fits = 250 if n_folds is None else n_folds.sum()
    print(f"{name:9} {n_fits:3} fits, best {search.best_score_:.4f}")

# %%
# The folds that each candidate was given. Long bars are those that were worth it.
import matplotlib.pyplot as plt

n_folds = searches["racing"].cv_results_["n_folds_run"]
_, ax = plt.subplots(layout="constrained")
ax.bar(
    range(len(n_folds)), n_folds, color=["C0" if n == 10 else "0.7" for n in n_folds]
)
ax.set(xlabel="candidate, in the order of asking", ylabel="folds that were run")
plt.show()
