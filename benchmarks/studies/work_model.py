# SPDX-License-Identifier: BSD-3-Clause
"""Fit the two constants by which tune_penalties counts its work.

    OMP_NUM_THREADS=1 python work_model.py

For each table it prints the seconds measured (the least of some runs, processor time),
those counted, and their ratio; then the two constants that bring the ratios nearest
to one, and the largest factor that remains. Copy the constants into
``accsmbo/linear_model/_work.py``.
"""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from accsmbo.hypergradients import squared_hinge_loss
from accsmbo.linear_model._one_fit import OneFit, tune_penalties

SHAPES = {
    "100 x 5": (100, 5, 1.0),
    "700 x 20": (700, 20, 1.0),
    "2,000 x 200": (2000, 200, 1.0),
    "20,000 x 50": (20_000, 50, 1.0),
    "300 x 5,000": (300, 5000, 1.0),
    "2,000 x 10,000 sparse": (2000, 10_000, 0.005),
}
SQUARED_HINGE = make_scorer(
    squared_hinge_loss, greater_is_better=False, response_method="decision_function"
)
MODELS = {
    "logistic, 2 classes": (LogisticRegression(), "C", 2, "neg_log_loss"),
    "logistic, 10 classes": (LogisticRegression(), "C", 10, "neg_log_loss"),
    "ridge": (Ridge(), "alpha", 0, "neg_mean_squared_error"),
    "svc": (LinearSVC(), "C", 2, SQUARED_HINGE),
    "poisson": (PoissonRegressor(), "alpha", 0, "neg_mean_poisson_deviance"),
}


def table(n: int, p: int, density: float, n_classes: int) -> tuple[Any, np.ndarray]:
    """Return rows and a target of some classes, or counts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) if density == 1 else _text(n, p, density, rng)
    f = np.asarray(X @ rng.normal(size=p)).ravel()
    f = 2 * f / f.std() + rng.normal(size=n)
    if n_classes:
        return X, np.digitize(f, np.quantile(f, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X, rng.poisson(np.exp(0.3 * f)).astype(float)


def _text(n: int, p: int, density: float, rng: np.random.Generator) -> Any:
    return sparse.csr_array(sparse.random(n, p, density, rng=rng))


def cases() -> Iterator[tuple[str, Any]]:
    """Yield a name and a call of the method for each table and model."""
    for shape, (n, p, density) in SHAPES.items():
        for name, (model, penalty, n_classes, scoring) in MODELS.items():
            X, y = table(n, p, density, n_classes)
            splits = list(KFold(5).split(X))

            def run(
                X: Any = X,
                y: np.ndarray = y,
                splits: Any = splits,
                model: Any = model,
                bounds: Any = {penalty: (1e-4, 1e4)},  # noqa: B006
                scoring: Any = scoring,
            ) -> OneFit:
                return tune_penalties(model, bounds, X, y, splits, scoring=scoring)

            yield f"{shape}, {name}", run


def measured(run: Any, seconds: float = 1.0) -> tuple[float, OneFit]:
    """Return the least processor time of some runs, and their result."""
    times: list[float] = []
    while len(times) < 3 and sum(times) < 3 * seconds:
        start = time.process_time()
        found = run()
        times.append(time.process_time() - start)
    return min(times), found


def main() -> None:
    """Measure, print and fit."""
    warnings.simplefilter("ignore")
    rows, seconds = [], []
    for name, run in cases():
        taken, found = measured(run)
        rows.append((found.meter.multiply_adds, found.meter.calls))
        seconds.append(taken)
        ratio = found.work / taken
        print(f"{name:44} {taken:8.4f} {found.work:8.4f} {ratio:6.2f}", flush=True)
    counts, logs = np.array(rows), np.log(seconds)

    def distance(constants: np.ndarray) -> float:
        return float(((np.log(counts @ np.exp(constants)) - logs) ** 2).sum())

    fitted = optimize.minimize(distance, np.log([5e-11, 1e-6]), method="Nelder-Mead").x
    worst = np.exp(np.abs(np.log(counts @ np.exp(fitted)) - logs).max())
    arithmetic, call = np.exp(fitted)
    print(f"per multiply-add {arithmetic:.2e}, per call {call:.2e}, worst {worst:.2f}")


if __name__ == "__main__":
    main()
