# SPDX-License-Identifier: BSD-3-Clause
"""
==================================
What is left after Ctrl-C?
==================================

Everything that was finished. A search with ``storage=`` writes each candidate to a
journal when it is known; the same search goes on from there.
"""

# %%
# A search that is interrupted after seven candidates. Here a callback plays the user
# who presses Ctrl-C.
import tempfile
import warnings
from pathlib import Path

from scipy.stats import loguniform
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from accsmbo import SMBOSearchCV
from accsmbo.exceptions import SearchInterruptedWarning

X, y = load_wine(return_X_y=True)
folder = tempfile.TemporaryDirectory()
journal = Path(folder.name) / "wine.jsonl"


def make_search(**settings):
    """Return the search of this study."""
    return SMBOSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": loguniform(1e-2, 1e3), "svc__gamma": loguniform(1e-4, 1e1)},
        n_iter=20,
        cv=5,
        random_state=0,
        **settings,
    )


def impatient(history):
    """Press Ctrl-C after seven candidates."""
    if len(history) == 7:
        raise KeyboardInterrupt


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", SearchInterruptedWarning)
    stopped = make_search(storage=journal, callbacks=impatient).fit(X, y)
print(caught[0].message)
print(len(stopped.cv_results_["params"]), "candidates, best", stopped.best_score_)

# %%
# The journal is a text file, one line an event; a crash or a power cut costs the
# candidate that was under way.
print(*(line[:88] for line in journal.read_text().splitlines()[:4]), sep="\n")

# %%
# The same search again, perhaps tomorrow in another process: seven candidates are read,
# thirteen evaluated.
resumed = make_search(storage=journal).fit(X, y)
unbroken = make_search().fit(X, y)

# %%
# One worker, one seed: the resumed search has asked for exactly what an unbroken one
# asks for.
assert resumed.cv_results_["params"] == unbroken.cv_results_["params"]
print(len(resumed.cv_results_["params"]), "candidates, best", resumed.best_score_)

import matplotlib.pyplot as plt

from accsmbo.plotting import ConvergenceDisplay

display = ConvergenceDisplay.from_history({"resumed": resumed, "stopped": stopped})
display.ax_.axvline(7, color="0.6", linestyle=":")
plt.show()
folder.cleanup()
