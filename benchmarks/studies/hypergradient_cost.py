# SPDX-License-Identifier: BSD-3-Clause
"""What does a hypergradient cost beside one fit? Sparse text, l2 logistic regression.

    OMP_NUM_THREADS=1 python hypergradient_cost.py --data FOLDER --out FILE

Ratios to one cold liblinear fit (eps 0.01, conversion not counted) at the same C; ours
count the preparation of the fold. Memory: the largest array traced by tracemalloc.
"""

import argparse
import json
import tracemalloc
from pathlib import Path

import numpy as np
from _common.logistic_data import interleaved, liblinear_fit, rcv1, split
from _common.results import environment
from sklearn.linear_model import LogisticRegression

from accsmbo.hypergradients import (
    FoldHypergradient,
    LogisticRegressionProblem,
    implicit_hypergradient,
    outer_loss,
)

SCORING = "neg_log_loss"


def measure(X, y, lam: float, rounds: int) -> dict[str, float]:
    C = float(np.exp(-lam))
    train, test = split(len(y), 0)
    model = LogisticRegression(C=C, fit_intercept=False)
    problem = LogisticRegressionProblem(model, X[train], y[train])
    solution = problem.solve(model, tolerance=1e-3)
    X_test, y_test = X[test], (y[test] > 0).astype(int)
    loss = outer_loss(SCORING, model)

    def adjoint():
        return implicit_hypergradient(
            problem, solution, loss, X_test, y_test, tolerance=1e-2
        )

    def cold(tolerance):
        fold = FoldHypergradient(model, X, y, train, test, names=["C"], scoring=SCORING)
        return fold({"C": C}, tolerance=tolerance)

    seconds = interleaved(
        {
            "liblinear_eps_0.01": liblinear_fit(X[train], y[train], C, 0.01),
            "adjoint_at_given_w_rtol_0.01": adjoint,
            "cold_score_and_gradient_tolerance_0.01": lambda: cold(1e-2),
            "cold_score_and_gradient_tolerance_0.003": lambda: cold(3e-3),
        },
        rounds,
    )
    units = {c: by_name["liblinear_eps_0.01"] for c, by_name in seconds.items()}
    tight, loose = cold(None), cold(1e-2)
    tracemalloc.start()
    cold(1e-2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "lam": lam,
        "rounds": rounds,
        "liblinear_eps_0.01_s": {c: round(v, 4) for c, v in units.items()},
        "ratios": {
            c: {name: round(v / units[c], 3) for name, v in by_name.items()}
            for c, by_name in seconds.items()
        },
        "loss_tight": tight.loss,
        "relative_error_of_loss_at_tolerance_0.01": loose.loss / tight.loss - 1,
        "d_loss_d_lam_tight": -C * tight.gradient["C"],
        "d_loss_d_lam_at_tolerance_0.01": -C * loose.gradient["C"],
        "peak_traced_MB": round(peak / 1e6, 1),
        "MB_of_a_dense_features_square": round(X.shape[1] ** 2 * 4 / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    X, y = rcv1(arguments.data)
    points = [measure(X, y, lam, arguments.rounds) for lam in (-3.389, 0.0)]
    result = {"environment": environment(["liblinear-official"], [0]), "rcv1": points}
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
