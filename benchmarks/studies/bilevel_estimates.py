# SPDX-License-Identifier: BSD-3-Clause
"""Whether the true loss lies within score_error_estimate_ of best_score_.

    OMP_NUM_THREADS=1 python bilevel_estimates.py [--tables 50] [--kinds text,wide]

``text``: 400 rows of a bag of words, 10,000 columns by Zipf's law, for LinearSVC and
LogisticRegression; ``large``: 1,500 rows of it; ``wide``: ridge of 60 x 300 and
80 x 500; ``three``: three classes of text. The true loss is that of scikit-learn's own
solvers, at their tightest, in the span of all rows, where the l2 problem is the same.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import check_cv
from sklearn.svm import LinearSVC

from accsmbo.hypergradients import squared_hinge_loss
from accsmbo.linear_model import (
    BilevelLinearSVCCV,
    BilevelLogisticRegressionCV,
    BilevelRidgeCV,
)


def text(
    rng: np.random.Generator, n: int, p: int = 10_000, n_classes: int = 2
) -> tuple[Any, np.ndarray]:
    """Return a bag of words of Zipf's law, rows of norm one, and noisy topics."""
    word = 1 / np.arange(1, p + 1)
    word /= word.sum()
    topics = rng.integers(0, n_classes, n)
    tilt = np.exp(0.7 * rng.normal(size=(n_classes, p)))
    rows = []
    for topic in topics:
        chances = word * tilt[topic]
        counts = rng.multinomial(rng.integers(60, 250), chances / chances.sum())
        rows.append(sparse.csr_array(np.log1p(counts)[None]))
    X = sparse.csr_array(sparse.vstack(rows))
    X = sparse.csr_array(sparse.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    flipped = rng.random(n) < rng.choice([0.0, 0.05, 0.15])
    return X, np.where(flipped, rng.integers(0, n_classes, n), topics)


def wide(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table with few strong columns and noise."""
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(size=p) * rng.choice([0.0, 1.0]))
    w = rng.normal(size=p) * (rng.random(p) < rng.choice([0.05, 0.5]))
    f = X @ w
    return X, f / f.std() + rng.choice([0.01, 0.3, 1.0]) * rng.normal(size=n) + 3


def cases(kind: str, n_tables: int) -> Iterator[tuple[Any, Any, Any, np.ndarray]]:
    """Yield our estimator, scikit-learn's, rows and target."""
    svc = BilevelLinearSVCCV(), LinearSVC(dual=False, tol=1e-6, max_iter=10_000)
    logistic = (
        BilevelLogisticRegressionCV(),
        LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000),
    )
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        if kind == "wide":
            shape = [(60, 300), (80, 500)][seed % 2]
            yield BilevelRidgeCV(), Ridge(solver="cholesky"), *wide(rng, *shape)
        else:
            n, n_classes = 1500 if kind == "large" else 400, 2 + (kind == "three")
            yield *(svc, logistic)[seed % 2], *text(rng, n, n_classes=n_classes)


def in_row_space(X: Any) -> np.ndarray:
    """Return as many columns as rows with the same products between rows."""
    if not sparse.issparse(X):
        return np.linalg.qr(X.T)[1].T
    values, vectors = np.linalg.eigh((X @ X.T).toarray())
    return vectors * np.sqrt(np.maximum(values, 0))


def polished_svc_loss(
    model: Any, A: np.ndarray, b: np.ndarray, V: np.ndarray, v: np.ndarray
) -> float:
    """Return the validation loss after Newton steps from liblinear's solution."""
    if len(model.classes_) > 2:
        return squared_hinge_loss(v, model.decision_function(V))
    A, V = (np.column_stack([Z, np.ones(len(Z))]) for Z in (A, V))
    signs = np.where(b == model.classes_[1], 1.0, -1.0)
    w = np.append(model.coef_[0], model.intercept_)
    for step in range(60):
        active = signs * (A @ w) < 1
        H = 2 * A[active].T @ A[active] + np.eye(len(w)) / model.C
        new = np.linalg.solve(H, 2 * A[active].T @ signs[active])
        if np.array_equal(signs * (A @ new) < 1, active):
            w = new
            break
        w = new if step > 30 else w + 0.5 * (new - w)
    return squared_hinge_loss(v, V @ w)


def true_loss(ours: Any, theirs: Any, X: Any, y: np.ndarray) -> float:
    """Return the mean validation loss by tight fits at the penalty found."""
    name, Z, losses = ours._penalty_name, in_row_space(X), []
    for train, test in check_cv(5, y, classifier=ours._classifies).split(Z, y):
        theirs.set_params(**{name: getattr(ours, f"{name}_")}).fit(Z[train], y[train])
        if not ours._classifies:
            losses.append(float(((theirs.predict(Z[test]) - y[test]) ** 2).mean()))
        elif isinstance(theirs, LinearSVC):
            losses.append(
                polished_svc_loss(theirs, Z[train], y[train], Z[test], y[test])
            )
        else:
            log_p = theirs.predict_log_proba(Z[test])
            index = np.searchsorted(theirs.classes_, y[test])
            losses.append(-float(log_p[np.arange(len(test)), index].mean()))
    return float(np.mean(losses))


def row(ours: Any, theirs: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return the gap and the estimate as shares of the loss, and what it cost."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours.fit(X, y)
        seconds = time.process_time() - start
        truth = true_loss(ours, theirs, X, y)
    return {
        "penalty": getattr(ours, f"{ours._penalty_name}_"),
        "gap": (-ours.best_score_ - truth) / truth,
        "estimate": ours.score_error_estimate_ / truth,
        "converged": ours.converged_,
        "products": ours.n_products_,
        "seconds": seconds,
    }


def main() -> None:
    """Print a row for each table and the share that is covered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--kinds", default="text,wide")
    args = parser.parse_args()
    for kind in args.kinds.split(","):
        covered = []
        for seed, case in enumerate(cases(kind, args.tables)):
            found = row(*case)
            covered.append(abs(found["gap"]) <= found["estimate"])
            print(
                f"{kind} {seed:3} {type(case[1]).__name__:18} {found['penalty']:9.3g} "
                f"gap {found['gap']:9.1e} estimate {found['estimate']:8.1e} "
                f"{'' if covered[-1] else 'MISSED '}"
                f"{'' if found['converged'] else 'not converged '}"
                f"{found['products']} products, {found['seconds']:.2f} s",
                flush=True,
            )
        print(f"{kind}: covered {np.mean(covered):.0%}")


if __name__ == "__main__":
    main()
