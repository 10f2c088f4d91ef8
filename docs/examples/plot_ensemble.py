# SPDX-License-Identifier: BSD-3-Clause
"""
====================================================
How much better is an ensemble of a search's models?
====================================================

A search fits dozens of models and keeps one. With ``keep_predictions=True`` it also
keeps what every candidate predicted for the rows it was not trained on, and
:class:`~accsmbo.ensembles.EnsembleSelectionClassifier` turns the candidates into a
weighted average: greedy selection with replacement finds members and weights on these
predictions, and only the members are fitted again, on all training data.
"""

# %%
# Handwritten digits, with half of them held out.
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from accsmbo import AccSMBOSearchCV, Integer

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
space = {
    "max_depth": Integer(2, 20),
    "min_samples_leaf": Integer(1, 20),
    "max_features": ["sqrt", 0.5, None],
}
tree = DecisionTreeClassifier(random_state=0)

# %%
# From a search to an ensemble in three lines: the search keeps its predictions, the
# ensemble is made from the search, and it is fitted.
from accsmbo.ensembles import EnsembleSelectionClassifier

search = AccSMBOSearchCV(
    tree, space, n_iter=30, random_state=0, keep_predictions=True
).fit(X_train, y_train)
ensemble = EnsembleSelectionClassifier.from_search(search, n_members=10, random_state=0)
ensemble.fit(X_train, y_train)

# %%
# Ten trees at most, fitted once each, and what they bring on the test half. The most
# accurate tree has pure leaves: it is sure of everything, and its negative
# log-likelihood and its calibration error are poor.
from accsmbo.ensembles import metrics

for name, model in {"best tree": search, "ensemble": ensemble}.items():
    p = model.predict_proba(X_test)
    print(
        f"{name:9}  accuracy {metrics.accuracy(y_test, p):.3f}"
        f"  NLL {metrics.negative_log_likelihood(y_test, p):.3f}"
        f"  ECE {metrics.expected_calibration_error(y_test, p):.3f}"
    )
print("weights", ensemble.member_weights_.round(3))

# %%
# The reliability diagram before and after: on the diagonal, a confidence of 80 % is
# right in 80 % of the cases; the area of a marker grows with its share of the samples.
import matplotlib.pyplot as plt

from accsmbo.plotting import ReliabilityDisplay

ReliabilityDisplay.from_estimator(
    {"best tree": search, "ensemble": ensemble}, X_test, y_test
)
plt.show()

# %%
# The path of the selection: the score falls while members come in and a little longer,
# while only their weights change.
scores = [step.score for step in ensemble.selection_.path]
_, ax = plt.subplots(layout="constrained")
ax.plot(range(1, len(scores) + 1), scores)
ax.axvline(ensemble.selection_.best + 1, color="0.6", linestyle="--", label="best")
ax.set(xlabel="Round", ylabel="Out-of-fold negative log-likelihood")
ax.legend()
plt.show()
