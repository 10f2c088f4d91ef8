# SPDX-License-Identifier: BSD-3-Clause
"""
======================================
How do I tune a text classifier?
======================================

Words, weights, a linear model: the pipeline has settings at both ends, choices of how
to count and the strength of a penalty. They are tuned together.
"""

# %%
# The texts are what scikit-learn ships with every installation: the docstrings of its
# estimators, cut into paragraphs. The question: does a paragraph document a linear
# model, an ensemble, or a cluster analysis?
import inspect

import sklearn.cluster
import sklearn.ensemble
import sklearn.linear_model

texts, labels = [], []
for module in (sklearn.cluster, sklearn.ensemble, sklearn.linear_model):
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        found = [p for p in text.split("\n\n") if len(p.split()) >= 15]
        texts += found
        labels += [module.__name__.rpartition(".")[2]] * len(found)
print(
    len(texts),
    "paragraphs;",
    {name: labels.count(name) for name in sorted(set(labels))},
)

# %%
# Paragraphs of one docstring resemble each other and many are repeated word for word,
# so repetitions go first.
import numpy as np

texts, first = np.unique(np.array(texts), return_index=True)
labels = np.array(labels)[first]

# %%
# The pipeline and its space. ``C`` is searched with the gradient of the log loss, the
# choices beside it by values.
from scipy.stats import loguniform
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from accsmbo import AccSMBOSearchCV

model = Pipeline(
    [("tfidf", TfidfVectorizer()), ("classify", LogisticRegression(max_iter=1000))]
)
space = {
    "tfidf__ngram_range": [(1, 1), (1, 2)],
    "tfidf__min_df": [1, 2, 4],
    "tfidf__sublinear_tf": [False, True],
    "classify__C": loguniform(1e-2, 1e4),
}
search = AccSMBOSearchCV(
    model, space, n_iter=20, cv=5, scoring="neg_log_loss", random_state=0
).fit(texts, labels)
print(search.best_params_, round(search.best_score_, 3))

# %%
# The default settings, for comparison.
from sklearn.model_selection import cross_val_score

default = cross_val_score(model, texts, labels, cv=5, scoring="neg_log_loss").mean()
print(f"default {default:.3f}, tuned {search.best_score_:.3f}")

# %%
import matplotlib.pyplot as plt

from accsmbo.plotting import ConvergenceDisplay, SurrogateDisplay

ConvergenceDisplay.from_history(search)
SurrogateDisplay.from_history(search, ["classify__C", "tfidf__min_df"])
plt.show()
