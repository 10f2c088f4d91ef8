# SPDX-License-Identifier: BSD-3-Clause
"""A cross-validated score with its gradient, beside the score alone."""

from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score

from accsmbo import hypergradient

MODELS = {
    "LogisticRegression": (LogisticRegression(), "C", "neg_log_loss"),
    "Ridge": (Ridge(), "alpha", "neg_mean_squared_error"),
}


class Hypergradient:
    """Dense and sparse data."""

    params = (sorted(MODELS), ("dense", "sparse"))
    param_names = ("model", "data")

    def setup(self, model, data):
        self.model, self.name, self.scoring = MODELS[model]
        X, y = load_digits(return_X_y=True)
        self.X = sparse.csr_matrix(X / 16) if data == "sparse" else X / 16
        self.y = y % 2

    def time_hypergradient(self, model, data):
        hypergradient(
            self.model, {self.name: 1.0}, self.X, self.y, cv=3, scoring=self.scoring
        )

    def time_score_alone(self, model, data):
        cross_val_score(self.model, self.X, self.y, cv=3, scoring=self.scoring)

    def peakmem_hypergradient(self, model, data):
        self.time_hypergradient(model, data)
