# SPDX-License-Identifier: BSD-3-Clause
"""
===============================
What does the search believe?
===============================

A search by a model can be asked what it has learned: the mean of its model and how sure
it is, along one hyperparameter and over two.
"""

# %%
# A support vector machine on handwritten digits.
from scipy.stats import loguniform
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from accsmbo import SMBOSearchCV

X, y = load_digits(return_X_y=True)
search = SMBOSearchCV(
    SVC(),
    {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-6, 1e0)},
    n_iter=18,
    cv=3,
    random_state=0,
).fit(X[:600], y[:600])
print(search.best_params_, round(search.best_score_, 3))

# %%
# Slices through the best point: the line is the mean, the band two standard deviations,
# circles are candidates (wherever they lie in the other parameter), the star is the
# best. Accuracy hardly depends on ``C`` once it is large enough; ``gamma`` has a ridge.
import matplotlib.pyplot as plt

from accsmbo.plotting import SurrogateDisplay

SurrogateDisplay.from_history(search)
plt.show()

# %%
# The same over both: the mean at the left, the standard deviation at the right. It is
# large where the search did not look, and it did not look where it expected nothing.
SurrogateDisplay.from_history(search, [("C", "gamma")])
plt.show()
