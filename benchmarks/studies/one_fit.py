# SPDX-License-Identifier: BSD-3-Clause
"""Is tuning an l2 penalty as cheap as one fit? Ratios to one cold liblinear fit.

    OMP_NUM_THREADS=1 python one_fit.py --data FOLDER --out FILE \
        --parts single --sets rcv1,imdb

``--parts``: ``single`` (one split, from lam = 0 to the end of the dual test, against a
cold liblinear fit, eps 0.01, at the optimum found; conversions not counted),
``folds`` (five folds against one split, LogisticRegressionCV and GridSearchCV),
``peers`` (HOAG, 20 cold liblinear fits, one split), ``memory``. lam = -log C is in
[-8, 8];
split s: 30 % of a permutation by RandomState(s) validate. Text, a9a and w8a have no
intercept; tables are standardised and have one. ``gap``: how far the exact loss at
the penalty found lies above the smallest, both by Newton steps in float64 to 1e-6.
Exact losses are kept in ``benchmarks/reference/``, so that timing again is quick;
``--exact`` computes those that are missing. Ratios are of medians of interleaved
calls, by processor time and by the clock.
"""

import argparse
import csv
import gzip
import inspect
import json
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common.logistic_data import interleaved, liblinear_fit, pc4, rcv1, split
from _common.results import environment
from hoag import descend
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

from accsmbo.hypergradients import FoldHypergradient
from accsmbo.linear_model import BilevelLogisticRegressionCV
from accsmbo.linear_model._one_fit import OneFit, tune_penalties

BOUNDS = {"C": (float(np.exp(-8.0)), float(np.exp(8.0)))}
TEXT = ("rcv1", "imdb", "news20")
TABLES = ("pc4", "spambase", "churn", "qsar-biodeg", "kc1", "diabetes")
SCORING = "neg_log_loss"
REFERENCE = Path(__file__).resolve().parents[1] / "reference"


def load(name: str, folder: Path) -> tuple[Any, np.ndarray]:
    """Return rows and labels 0, 1 or -1, 1."""
    if name == "rcv1":
        return rcv1(folder)
    if name == "pc4":
        return pc4(folder)
    if name in ("a9a", "w8a"):
        X, y = load_svmlight_file(str(folder / f"{name}.svm.gz"))
        return sparse.csr_array(X), y.astype(int)
    if name in ("imdb", "news20"):
        return bag_of_words(name, folder)
    return table(folder / "tabular" / f"{name}.csv.gz")


def bag_of_words(name: str, folder: Path) -> tuple[Any, np.ndarray]:
    """Return TF-IDF rows; news20: recreation, talk and religion against the rest."""
    with np.load(folder / f"{name}_bow.npz") as file:
        indices = file["indices"].astype(np.int32)
        parts = file["data"].astype(float), indices, file["indptr"]
        X = sparse.csr_matrix(parts, shape=tuple(file["shape"]))
        if name == "imdb":
            y = file["y"].astype(int)
        else:
            groups = np.atleast_1d(file["target_names"])
            groups = str(groups[0]).split("\n") if len(groups) == 1 else groups
            heads = ("rec.", "talk.", "alt.atheism", "soc.religion.christian")
            chosen = [i for i, g in enumerate(groups) if str(g).startswith(heads)]
            y = np.isin(file["target"], chosen).astype(int)
    return sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X)), y


def table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the numeric columns, standardised, and the second label as 1."""
    with gzip.open(path, "rt") as file:
        rows = list(csv.reader(file))[1:]
    labels = np.array([row[-1] for row in rows])
    columns = []
    for j in range(len(rows[0]) - 1):
        try:
            columns.append([float(row[j]) for row in rows])
        except ValueError:
            continue
    X = np.array(columns).T
    return StandardScaler().fit_transform(X), np.unique(labels, return_inverse=True)[1]


def model_of(name: str) -> LogisticRegression:
    """Return the model of a data set."""
    return LogisticRegression(fit_intercept=name in TABLES)


def tune(name: str, X: Any, y: np.ndarray, splits: Any) -> OneFit:
    """Tune C on some splits."""
    return tune_penalties(model_of(name), BOUNDS, X, y, splits, scoring=SCORING)


def cold_fit(name: str, X: Any, y: np.ndarray, C: float) -> Callable[[], None]:
    """Return one cold liblinear fit, eps 0.01, conversion done."""
    if name not in TABLES:
        return liblinear_fit(X, y, C, 0.01)
    from liblinear.liblinear import liblinear
    from liblinear.liblinearutil import parameter, problem

    task = problem(np.where(y > 0, 1.0, -1.0), X)
    options = parameter(f"-s 0 -c {C:.17g} -e 0.01 -B 1 -R -q")
    task.set_bias(1)
    return lambda: liblinear.train(task, options)


class Exact:
    """Exact losses of one split, kept between runs."""

    def __init__(self, name: str, X: Any, y: np.ndarray, seed: int, kept: Any) -> None:
        train, test = split(len(y), seed)
        self.fold = FoldHypergradient(
            model_of(name), X, y, train, test, names=["C"], scoring=SCORING
        )
        self.rows: list[list[float]] = kept.setdefault(f"{name}_{seed}", [])
        self.warm: Any = None

    def __call__(self, lam: float, tolerance: float = 1e-6) -> tuple[float, float]:
        """Return loss and derivative by lam."""
        for known, loss, slope in self.rows:
            if abs(known - lam) < 1e-9:
                return loss, slope
        C = float(np.exp(-lam))
        found = self.fold({"C": C}, tolerance=tolerance, warm_start=self.warm)
        self.warm = found.warm_start
        slope = -C * found.gradient["C"]
        if tolerance <= 1e-6:
            self.rows.append([lam, found.loss, slope])
        return found.loss, slope

    def best(self) -> float:
        """Return the smallest loss: a coarse look, then bisection by derivatives."""
        grid = np.linspace(8, -8, 17)
        losses = [self(float(lam), 1e-3)[0] for lam in grid]
        i = int(np.argmin(losses))
        low, high = grid[min(i + 1, 16)], grid[max(i - 1, 0)]
        for _ in range(8):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self(middle)[1] > 0 else (middle, high)
        return min(loss for _, loss, _ in self.rows)


def single(name: str, X: Any, y: np.ndarray, seed: int, options: Any) -> dict[str, Any]:
    """Time one split against one cold fit, and say how good the penalty is."""
    train, test = split(len(y), seed)
    found = tune(name, X, y, [(train, test)])
    lam = float(-np.log(found.params["C"]))
    fit = cold_fit(name, X[train], y[train], found.params["C"])
    calls = {"fit": fit, "tune": lambda: tune(name, X, y, [(train, test)])}
    seconds = interleaved(calls, options.rounds)
    row = {
        "set": name,
        "split": seed,
        "lam": round(lam, 4),
        "products": round(found.n_products, 1),
        "converged": found.converged,
        "local_minima_seen": len(found.minima),
        "fit_ms": {c: round(1e3 * s["fit"], 2) for c, s in seconds.items()},
        "ratio": {c: round(s["tune"] / s["fit"], 3) for c, s in seconds.items()},
    }
    if options.exact or f"{name}_{seed}" in options.kept:
        exact = Exact(name, X, y, seed, options.kept)
        best = options.best.get(f"{name}_{seed}")
        if best is None and options.exact:
            best = options.best[f"{name}_{seed}"] = exact.best()
        if best is not None:
            there = exact(lam)[0]
            best = options.best[f"{name}_{seed}"] = min(best, there)
            row["gap_percent"] = round(100 * (there / best - 1), 4)
            row["error_of_its_loss_percent"] = round(
                100 * (found.losses[0] / there - 1), 4
            )
    return row


def folds(X: Any, y: np.ndarray, options: Any) -> list[dict[str, Any]]:
    """Time five folds against one of them, and against scikit-learn's searches."""
    splits = list(StratifiedKFold(5).split(X, y))
    grid = {"C": [float(C) for C in np.logspace(-4, 4, 20)]}
    same: dict[str, Any] = {"cv": splits, "scoring": SCORING}
    models = {
        "estimator with refit": BilevelLogisticRegressionCV(cv=splits),
        "LogisticRegressionCV": LogisticRegressionCV(Cs=20, **same, **new_options()),
        "GridSearchCV": GridSearchCV(LogisticRegression(), grid, **same),
    }
    calls: dict[str, Callable[[], Any]] = {
        "one split": lambda: tune("pc4", X, y, splits[:1]),
        "five folds": lambda: tune("pc4", X, y, splits),
    }
    for name, model in models.items():
        calls[name] = lambda model=model: model.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = interleaved({n: calls[n] for n in list(calls)[:3]}, options.rounds)
        theirs = interleaved({n: calls[n] for n in list(calls)[3:]}, 1)
    seconds = {c: ours[c] | theirs[c] for c in ours}
    chosen = {
        "ours": models["estimator with refit"].C_,
        "LogisticRegressionCV": float(np.ravel(models["LogisticRegressionCV"].C_)[0]),
        "GridSearchCV": models["GridSearchCV"].best_params_["C"],
    }
    losses = {name: cv_loss(X, y, splits, C) for name, C in chosen.items()}
    return [
        {
            "set": "rcv1, 5 stratified folds, with intercept",
            "clock": clock,
            **{f"seconds, {n}": round(v, 3) for n, v in s.items()},
            "five folds / one split": round(s["five folds"] / s["one split"], 2),
            **{
                f"times faster than {n}, {how}": round(s[n] / s[ours], 2)
                for n in ("LogisticRegressionCV", "GridSearchCV")
                for how, ours in (
                    ("tuning", "five folds"),
                    ("with refit", "estimator with refit"),
                )
            },
            **{f"C, {name}": round(float(C), 4) for name, C in chosen.items()},
            **{f"CV loss, {name}": loss for name, loss in losses.items()},
        }
        for clock, s in seconds.items()
    ]


def new_options() -> dict[str, Any]:
    """Return what a LogisticRegressionCV of scikit-learn 1.9 wants to be told."""
    known = inspect.signature(LogisticRegressionCV).parameters
    options = {"l1_ratios": (0,), "use_legacy_attributes": False}
    return options if "use_legacy_attributes" in known else {}


def cv_loss(X: Any, y: np.ndarray, splits: Any, C: float) -> float:
    """Return the mean log loss of the folds at C, solved to 1e-6."""
    model = LogisticRegression(C=C, tol=1e-6, max_iter=2000)
    scores = cross_val_score(model, X, y, cv=splits, scoring=SCORING)
    return round(-float(scores.mean()), 7)


def peers(name: str, X: Any, y: np.ndarray, options: Any) -> dict[str, Any]:
    """Time HOAG to its own stop and twenty cold fits, one split."""
    train, test = split(len(y), 0)
    values = np.exp(np.linspace(8, -8, 20))
    fits = [cold_fit(name, X[train], y[train], float(C)) for C in values]
    calls = {
        "tune": lambda: tune(name, X, y, [(train, test)]),
        "hoag": lambda: descend(X, y, train, test, n_restarts=0, fit_intercept=False),
        "20 cold fits": lambda: [fit() for fit in fits],
    }
    seconds = interleaved(calls, options.rounds)
    return {
        "set": name,
        "times_faster_than": {
            c: {n: round(s[n] / s["tune"], 2) for n in ("hoag", "20 cold fits")}
            for c, s in seconds.items()
        },
    }


def memory(name: str, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Compare traced peaks, the rows themselves included, with one lbfgs fit."""
    X = X.astype(np.float64)
    train, test = split(len(y), 0)
    rows = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    n, p = X.shape
    splits = {"one split": [(train, test)], "5 folds": StratifiedKFold(5).split(X, y)}
    result: dict[str, Any] = {"set": name, "rows_MB": round(rows / 1e6, 1)}
    fit = rows + peak(lambda: LogisticRegression().fit(X, y))
    result["one_fit_MB"] = round(fit / 1e6, 1)
    for kind, parts in splits.items():
        kept = list(parts)
        ours = rows + peak(lambda kept=kept: tune(name, X, y, kept))
        allowed = 1.5 * fit + 20 * 4 * (n + p) * len(kept)
        result[kind] = {
            "MB": round(ours / 1e6, 1),
            "allowed_MB": round(allowed / 1e6, 1),
        }
    return result


def peak(call: Callable[[], Any]) -> int:
    """Return the largest number of bytes traced during a call."""
    tracemalloc.start()
    call()
    result = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result


def rows_of(
    part: str, name: str, X: Any, y: np.ndarray, options: Any
) -> Iterator[dict[str, Any]]:
    """Return the rows of one part and data set, one after the other."""
    if part == "single":
        for seed in range(options.splits):
            yield flat(single(name, X, y, seed, options))
    elif part == "folds":
        yield from folds(X, y, options)
    elif part == "peers":
        yield flat(peers(name, X, y, options))
    else:
        yield flat(memory(name, X, y))


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without dicts in it."""
    result = {}
    for key, value in row.items():
        if isinstance(value, dict):
            inner = flat(value)
            result |= {f"{key}, {name}": v for name, v in inner.items()}
        else:
            result[key] = value
    return result


def keep(rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Put a row in the place of an older one of the same kind, or at the end."""

    def kind(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row.get(name) for name in ("set", "split", "clock"))

    for i, old in enumerate(rows):
        if kind(old) == kind(row):
            rows[i] = row
            return
    rows.append(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default="single")
    parser.add_argument("--sets", default="rcv1,imdb")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--exact", action="store_true")
    options = parser.parse_args()
    kept = REFERENCE / f"{options.out.stem}_exact_losses.json"
    stored, exact = (
        json.loads(path.read_text()) if path.exists() else {}
        for path in (options.out, kept)
    )
    options.kept = exact.setdefault("exact", {})
    options.best = exact.setdefault("best", {})
    for part in options.parts.split(","):
        for name in ["rcv1"] if part == "folds" else options.sets.split(","):
            X, y = load(name, options.data)
            for row in rows_of(part, name, X, y, options):
                print(row, flush=True)
                keep(stored.setdefault(part, []), row)
        environments = stored.setdefault("environments", {})
        environments[part] = environment(["liblinear-official"], range(options.splits))
    kept.parent.mkdir(parents=True, exist_ok=True)
    for path, content in ((options.out, stored), (kept, exact)):
        path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
