# SPDX-License-Identifier: BSD-3-Clause
"""
=============================
Are my workers busy?
=============================

Candidates take different times. A search that hands out batches waits for the slowest
of each; ours gives every free worker the next fold at once.
"""

# %%
# Forests of very different sizes, four workers. They are threads here, each mostly
# waiting, so that the picture is the same on a machine of two cores: the fit sleeps in
# proportion to its cost.
import time
from concurrent.futures import ThreadPoolExecutor

from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier

from accsmbo import Integer, SMBOSearchCV


class RemoteForest(ExtraTreesClassifier):
    """A forest that is grown elsewhere: fit waits for it."""

    def fit(self, X, y):
        """Wait as long as the forest takes, then fit."""
        time.sleep(0.02 * self.n_estimators)
        return super().fit(X, y)


X, y = load_iris(return_X_y=True)
with ThreadPoolExecutor(4) as executor:
    search = SMBOSearchCV(
        RemoteForest(random_state=0),
        {"n_estimators": Integer(1, 30, log=True), "max_depth": Integer(1, 6)},
        n_iter=24,
        cv=3,
        random_state=0,
        executor=executor,
    ).fit(X, y)

# %%
# A row for each worker, a bar for each fold, coloured by the loss of its candidate.
# Gaps are idle time.
import matplotlib.pyplot as plt

from accsmbo.plotting import WorkerTimelineDisplay

display = WorkerTimelineDisplay.from_history(search.history_)
plt.show()
print(f"busy: {100 * display.busy:.0f} % of the time")

# %%
# What waiting for batches of four candidates would have cost with the same durations.
import numpy as np

seconds = np.array(
    [sum(s.end - s.start for s in e.spans) for e in search.history_.evaluations]
)
batches = seconds[: len(seconds) // 4 * 4].reshape(-1, 4)
print(
    f"in batches of four: {100 * batches.sum() / (4 * batches.max(axis=1).sum()):.0f} %"
)
