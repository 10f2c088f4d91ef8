# SPDX-License-Identifier: BSD-3-Clause
r"""The paper's study: the l2 penalty of logistic regression, to 0.1 % of the optimum.

    python l2_logistic.py --dataset pc4 --curves l2lr_curves.npz --out l2_logistic.json
    python l2_logistic.py --dataset imdb --curves l2lr_curves.npz --data FOLDER \
        --out l2_logistic.json
    python l2_logistic.py --plot l2_logistic.png --out l2_logistic.json

Evaluations are counted on tabulated validation losses and derivatives (lam in [-8, 8],
r = exp(lam)); one evaluation is a value with its gradient. With --data seconds of
processor time, on one core, are measured on real fits: 30 % validation, no refit; the
tables say what is within 0.1 %, without a table the best loss that any method found.
Half of the shipped meta-data is removed at random, the set itself and its kin always.
imdb stands in for real-sim, which is downloaded to the folder where it is not there
(--dataset real-sim). SMAC3 takes part where it is installed. Rows are added to --out;
--plot draws the newest.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from _common.l2_curves import SPLITS, curve, least, load
from _common.l2_figure import draw
from _common.peer_optimizers import PEERS
from _common.results import environment
from group_penalties import reached

from accsmbo import AccSMBOSearchCV, Real, SMBOSearchCV
from accsmbo.exceptions import SpaceExhausted
from accsmbo.metalearning import MIN_TASKS, EmpiricalDensity, shipped_tasks
from accsmbo.optimizers import HOAG, SMBO, AccSMBO, GridSearch, RandomSearch
from accsmbo.search import HOAGSearchCV, RandomizedSearchCV

SPACE = {"C": Real(np.exp(-8.0), np.exp(8.0), log=True)}
LAM = {"lam": ("float", -8.0, 8.0, False)}
SPARSE = ("rcv1", "imdb", "real-sim")
BUDGET, WITHIN = 30, 1e-3
# Evaluations on real fits, of AccSMBO and of the others.
FEW, MORE = 6, 12
GRID = np.exp(np.linspace(8, -8, 20))
SMAC = {"smac3": "smac_rf"}
Objective = Callable[[float], tuple[float, float]]


def density(dataset: str, seed: int) -> EmpiricalDensity | None:
    """Return the density of half of the shipped meta-data, without the set itself."""
    tasks = shipped_tasks(
        "LogisticRegression", group="probability", sparse=dataset in SPARSE
    )
    if len(tasks) < 2 * MIN_TASKS:
        return None
    kept = np.random.default_rng(seed).permutation(len(tasks))[: len(tasks) // 2]
    return EmpiricalDensity().fit_tasks(
        [tasks[i] for i in kept], SPACE, exclude=[dataset]
    )


def optimizers(dataset: str, seed: int) -> dict[str, Any]:
    """Return what is compared; gradients are told to those marked with a plus."""
    known = density(dataset, seed)
    return {
        "accsmbo +": AccSMBO(SPACE, density=known, random_state=seed),
        "accsmbo without density +": AccSMBO(SPACE, random_state=seed),
        "accsmbo without gradients": AccSMBO(SPACE, density=known, random_state=seed),
        "smbo": SMBO(SPACE, random_state=seed),
        "hoag +": HOAG(SPACE, n_restarts=2, random_state=seed),
        "random": RandomSearch(SPACE, random_state=seed),
        "grid of 20": GridSearch({"C": [float(c) for c in GRID]}),
    }


def smac_methods() -> dict[str, str]:
    """Return the adapters of SMAC3, none where it is not installed."""
    if find_spec("smac") is None:
        print("smac is not installed (pip install smac): its rows are left out")
        return {}
    return SMAC


def evaluations(optimizer: Any, f: Objective, gradients: bool) -> list[float]:
    """Return the losses in order of evaluation."""
    values: list[float] = []
    try:
        while len(values) < BUDGET:
            trial = optimizer.ask()
            C = trial.params["C"]
            value, by_lam = f(-np.log(C))
            # lam = -log C
            gradient = {"C": -by_lam / C} if gradients else None
            optimizer.tell(trial, value, gradient)
            values.append(value)
    except SpaceExhausted:
        pass
    return values


def smac_evaluations(peer: str, f: Objective, seed: int) -> list[float]:
    """Return the losses of SMAC3 in order of evaluation."""
    values: list[float] = []

    def told(params: dict[str, Any]) -> float:
        values.append(f(params["lam"])[0])
        return values[-1]

    PEERS[peer](LAM, told, BUDGET, seed)
    return values


def course(values: Iterable[float], best: float) -> list[float]:
    """Return the relative distance of the best so far to the least loss."""
    so_far = np.minimum.accumulate(np.array(list(values)))
    return [float(f"{v:.3g}") for v in np.maximum(so_far / best - 1, 0.0)]


def count(dataset: str, path: str, seeds: int) -> list[dict[str, Any]]:
    """Return rows of evaluations to 0.1 %, on tabulated curves."""
    counts: dict[str, list[int]] = {}
    courses: dict[str, list[list[float]]] = {}
    smac = smac_methods()
    for split in range(SPLITS[dataset]):
        tabulated = curve(dataset, split, path)
        if tabulated is None:
            raise ValueError(f"{path} has no curve of {dataset}: name its --data")
        slope, best = tabulated.derivative(), least(tabulated)

        def f(lam: float, loss: Any = tabulated, slope: Any = slope) -> Any:
            lam = min(max(lam, -8.0), 8.0)
            return float(loss(lam)), float(slope(lam))

        for seed in range(seeds if SPLITS[dataset] == 1 else 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = {
                    name: evaluations(optimizer, f, name.endswith("+"))
                    for name, optimizer in optimizers(dataset, seed).items()
                } | {
                    name: smac_evaluations(peer, f, seed) for name, peer in smac.items()
                }
            for name, values in found.items():
                counts.setdefault(name, []).append(reached(values, best, BUDGET))
                gaps = course(values, best)
                # a method that ended early keeps what it has
                gaps += gaps[-1:] * (BUDGET - len(gaps))
                courses.setdefault(name, []).append(gaps)
    return [
        {
            "dataset": dataset,
            "method": name,
            "median_evaluations": float(np.median(numbers)),
            "evaluations": numbers,
            "course": [
                float(f"{v:.3g}") for v in np.median(courses[name], axis=0).tolist()
            ],
        }
        for name, numbers in counts.items()
    ]


def searches(model: Any, folds: Any, seed: int) -> dict[str, Callable[[], Any]]:
    """Return the searches whose time is measured."""
    common: dict[str, Any] = {
        "cv": folds,
        "scoring": "neg_log_loss",
        "refit": False,
        "random_state": seed,
    }
    plain = {"density": None, "solver": "estimator"}
    return {
        "accsmbo": lambda: AccSMBOSearchCV(
            model, SPACE, n_iter=FEW, density=None, **common
        ),
        "accsmbo without gradients": lambda: AccSMBOSearchCV(
            model, SPACE, n_iter=MORE, **plain, **common
        ),
        "smbo": lambda: SMBOSearchCV(model, SPACE, n_iter=MORE, **common),
        "hoag": lambda: HOAGSearchCV(model, SPACE, n_iter=MORE, **common),
        "random": lambda: RandomizedSearchCV(model, SPACE, n_iter=MORE, **common),
    }


def timed_search(make: Callable[[], Any], X: Any, y: Any) -> tuple[Any, list[float]]:
    """Return C and loss of each candidate, and processor time after each."""
    marks: list[float] = []
    start = time.process_time()
    search = make().set_params(callbacks=lambda _: marks.append(time.process_time()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    trials, values = search.history_.trials, search.history_.values
    pairs = [(t.params["C"], float(v)) for t, v in zip(trials, values, strict=True)]
    return pairs, [mark - start for mark in marks]


def timed_smac(peer: str, loss: Callable[[float], float]) -> tuple[Any, list[float]]:
    """Return C and loss of each candidate of SMAC3, and processor time after each."""
    pairs: list[tuple[float, float]] = []
    marks: list[float] = []
    start = time.process_time()

    def told(params: dict[str, Any]) -> float:
        C = float(np.exp(-params["lam"]))
        pairs.append((C, loss(C)))
        marks.append(time.process_time() - start)
        return pairs[-1][1]

    PEERS[peer](LAM, told, MORE, 0)
    return pairs, marks


def clock(
    dataset: str, folder: str, curves: str | None, repeats: int
) -> list[dict[str, Any]]:
    """Return rows of seconds to 0.1 %, beside one cold fit and a grid of 20."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    X, y = load(dataset, folder)
    order = np.random.RandomState(0).permutation(len(y))
    k = int(0.3 * len(y))
    train, test = order[k:], order[:k]
    model = (
        LogisticRegression(max_iter=1000)
        if dataset == "pc4"
        else LogisticRegression(solver="liblinear", fit_intercept=False, tol=1e-2)
    )

    def fitted_loss(C: float) -> float:
        model.set_params(C=C).fit(X[train], y[train])
        return float(log_loss(y[test], model.predict_proba(X[test])))

    start = time.process_time()
    on_grid = [fitted_loss(float(C)) for C in GRID]
    grid = time.process_time() - start
    found: dict[str, list[Any]] = {}
    for seed in range(repeats):
        for name, make in searches(model, [(train, test)], seed).items():
            found.setdefault(name, []).append(timed_search(make, X, y))
    for name, peer in smac_methods().items():
        found[name] = [timed_smac(peer, fitted_loss)]
    tabulated = curve(dataset, 0, curves)
    seen = [v for runs in found.values() for pairs, _ in runs for _, v in pairs]
    best = min([*seen, *on_grid]) if tabulated is None else least(tabulated)

    def losses(pairs: Any) -> list[float]:
        if tabulated is None:
            return [v for _, v in pairs]
        return [float(tabulated(-np.log(C))) for C, _ in pairs]

    start = time.process_time()
    for _ in range(repeats):
        fitted_loss(min(found["accsmbo"][0][0], key=lambda pair: pair[1])[0])
    fit = (time.process_time() - start) / repeats
    rows = []
    for name, runs in found.items():
        courses = [course(losses(pairs), best) for pairs, _ in runs]
        first = [
            next((t for t, gap in zip(s, c, strict=True) if gap <= WITHIN), np.inf)
            for c, (_, s) in zip(courses, runs, strict=True)
        ]
        to = float(np.median(first))
        rows.append(
            {
                "dataset": dataset,
                "method": name,
                "cpu_seconds_to_0.1%": round(to, 3) if np.isfinite(to) else None,
                "ratio_to_fit": round(to / fit, 2) if np.isfinite(to) else None,
                "ratio_to_grid": round(to / grid, 3) if np.isfinite(to) else None,
                "one_fit": round(fit, 3),
                "grid_of_20": round(grid, 3),
                "seconds": np.round(runs[0][1], 3).tolist(),
                "course": courses[0],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", choices=list(SPLITS))
    parser.add_argument("--curves")
    parser.add_argument("--data", help="folder of the data sets, for times")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    stored = json.loads(args.out.read_text()) if args.out.exists() else {"runs": []}
    if args.dataset:
        if args.data:
            rows = clock(args.dataset, args.data, args.curves, args.repeats)
        else:
            rows = count(args.dataset, args.curves, args.seeds)
        peers = SMAC.values() if find_spec("smac") else []
        known = environment(peers, range(args.repeats if args.data else args.seeds))
        stored["question"] = (__doc__ or "").splitlines()[0]
        stored["runs"].append({"environment": known, "rows": rows})
        args.out.write_text(json.dumps(stored, indent=1) + "\n")
        for row in rows:
            print({k: v for k, v in row.items() if k not in ("course", "seconds")})
    if args.plot:
        draw(stored["runs"], args.plot)


if __name__ == "__main__":
    main()
