# SPDX-License-Identifier: BSD-3-Clause
"""Compare ensembles of one search's models on tabular data, after Wenzel et al. (2020).

    OMP_NUM_THREADS=1 python ensembles_tabular.py --data FOLDER --out FILE --minutes 25

For each set, model and seed: random rows for training (fit and validation, 80 to 20 as
in the paper) and test; random search of 50 configurations with one initialisation;
from these `single` (best validation NLL), `deep` (its configuration, K seeds), `row`
(greedy selection), `top-k`, `hyper-deep` (Algorithm 1), and `hyper` (70 random
configurations, a seed each, greedy selection). Models are not fitted again on all rows:
all methods use the same 80 %. Ensembles with K = 3 and 5. The file is written after
each case and a second run goes on where the first ended; `--summarize` only reads it.

Tests are one-sided Wilcoxon signed-rank tests over sets (values averaged over seeds),
as in the paper's Table 5: small p means that hyper-deep is better.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _common.results import environment
from scipy.stats import wilcoxon
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from accsmbo import Categorical, Integer, Real
from accsmbo.ensembles import greedy_selection, metrics, top_k_selection
from accsmbo.ensembles._candidates import Trainer, stratify
from accsmbo.optimizers import RandomSearch

SETS = (
    "MagicTelescope",
    "blood-transfusion-service-center",
    "churn",
    "credit-g",
    "diabetes",
    "electricity",
    "kc1",
    "phoneme",
    "qsar-biodeg",
    "spambase",
    "vehicle",
    "wilt",
)
DROPPED = {"MagicTelescope": ["ID"], "churn": ["phone_number"]}
MODELS = {
    "mlp": (
        MLPClassifier(batch_size=128, max_iter=30),
        {
            "alpha": Real(1e-4, 10, log=True),
            "learning_rate_init": Real(1e-3, 3e-2, log=True),
            "hidden_layer_sizes": Categorical([(16,), (32,), (64,)]),
        },
    ),
    "gradient_boosting": (
        HistGradientBoostingClassifier(early_stopping=False),
        {
            "learning_rate": Real(0.03, 0.3, log=True),
            "max_iter": Integer(15, 60),
            "max_leaf_nodes": Integer(3, 24),
            "min_samples_leaf": Integer(5, 60),
            "l2_regularization": Real(1e-3, 10, log=True),
            "max_features": Real(0.2, 0.8),
        },
    ),
}
SIZES = (3, 5)
VALUES = ("nll", "accuracy", "ece", "brier", "diversity")
METHODS = ("single", "deep", "row", "hyper-deep", "hyper", "top-k")


def load(folder: Path, name: str, n_train: int, n_test: int, seed: int):
    """Return training and test rows, encoded and scaled on the training rows."""
    frame = pd.read_csv(folder / f"{name}.csv.gz", na_values=["?"])
    frame = frame.drop(columns=DROPPED.get(name, []))
    y = pd.factorize(frame.pop(frame.columns[-1]), sort=True)[0]
    X = pd.get_dummies(frame, dtype=float)
    n_test = min(n_test, len(y) - n_train) if len(y) > n_train + 200 else len(y) // 3
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=n_test, stratify=y, random_state=seed
    )
    if len(y) > n_train:
        X, _, y, _ = train_test_split(
            X, y, train_size=n_train, stratify=y, random_state=seed
        )
    fill = X.median()
    scaler = StandardScaler().fit(X.fillna(fill))
    scaled = (scaler.transform(part.fillna(fill)) for part in (X, X_test))
    return *scaled, y, y_test


def scores(weights, candidates, X_test, y_test, labels) -> dict[str, float]:
    """Score an ensemble on the test rows; members are the models of the one split."""
    chosen = np.flatnonzero(weights)
    P = np.array([candidates[i].models[0].predict_proba(X_test) for i in chosen])
    p = np.tensordot(weights[chosen], P, 1)
    disagreement = metrics.predictive_disagreement(
        P, y_test, weights=weights[chosen], labels=labels
    )
    return {
        "nll": metrics.negative_log_likelihood(y_test, p, labels=labels),
        "accuracy": metrics.accuracy(y_test, p, labels=labels),
        "ece": metrics.expected_calibration_error(y_test, p, labels=labels),
        "brier": metrics.brier_score(y_test, p, labels=labels, shifted=True),
        "diversity": disagreement,
        "members": len(chosen),
    }


def search(trainer: Trainer, space, n: int, seed: int, model_seed: int | None):
    optimizer = RandomSearch(space, random_state=seed)
    trials = [optimizer.ask() for _ in range(n)]
    jobs = [(t.params, t.seed if model_seed is None else model_seed) for t in trials]
    return [c for c in trainer.train(jobs) if c.prediction is not None]


def run_case(X, X_test, y, y_test, model: str, seed: int, n_candidates: int):
    """Return the test scores of every method for one set, model and seed."""
    labels = np.arange(y.max() + 1)
    estimator, space = MODELS[model]
    fit, val = train_test_split(
        np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed
    )
    trainer = Trainer(
        estimator, X, y, [(fit, np.sort(val))], labels, keep_models=True, n_jobs=None
    )
    truth = y[np.sort(val)]
    rng = np.random.SeedSequence(seed).generate_state(max(SIZES))
    seeds = [int(value) % 2**31 for value in rng]

    def greedy(candidates, k):
        P = np.array([candidate.prediction for candidate in candidates])
        return greedy_selection(
            P, truth, n_members=k, labels=labels, random_state=seed
        ).weights

    def score(weights, candidates):
        return scores(weights, candidates, X_test, y_test, labels)

    found = search(trainer, space, n_candidates, seed, seeds[0])
    P = np.array([candidate.prediction for candidate in found])
    best = top_k_selection(P, truth, n_members=1, labels=labels, random_state=seed)
    wide = search(trainer, space, n_candidates + 20, seed + 1000, None)
    out: dict[str, dict[str, float]] = {"single": score(best.weights, found)}
    column = stratify(trainer, [found[int(np.argmax(best.weights))]], seeds)
    for k in SIZES:
        out[f"deep({k})"] = score(np.full(k, 1 / k), column[:k])
        row = greedy(found, k)
        out[f"row({k})"] = score(row, found)
        grid = stratify(trainer, [found[i] for i in np.flatnonzero(row)], seeds[:k])
        out[f"hyper-deep({k})"] = score(greedy(grid, k), grid)
        out[f"hyper({k})"] = score(greedy(wide, k), wide)
        top = top_k_selection(P, truth, n_members=k, labels=labels, random_state=seed)
        out[f"top-k({k})"] = score(top.weights, found)
    return out, trainer.n_fits


def frame_of(cases: dict) -> pd.DataFrame:
    rows = [
        {"set": name, "model": model, "seed": int(seed), "method": method, **values}
        for key, case in cases.items()
        for name, model, seed in [key.split("|")]
        for method, values in case["scores"].items()
    ]
    return pd.DataFrame(rows)


def wilcoxon_p(table: pd.DataFrame, method: str, value: str) -> float:
    """Return p of `method is not better than the other one` over sets and models."""
    k = method[-2]
    sign = 1 if value in ("accuracy", "diversity") else -1
    ours = table.xs(f"hyper-deep({k})", level="method")[value]
    gain = sign * (ours - table.xs(method, level="method")[value])
    gain = gain.replace([np.inf, -np.inf], np.nan).dropna()
    if not np.any(gain):
        return 1.0
    return float(wilcoxon(gain, alternative="greater").pvalue)


def summarize(cases: dict) -> dict:
    """Median over sets of the mean over seeds, and the tests, by model and pooled."""
    frame = frame_of(cases)
    seeds = frame.groupby(["set", "model", "method"])[list(VALUES)].mean()
    out: dict[str, dict] = {"cases": len(cases), "sets": int(frame["set"].nunique())}
    for model in [*MODELS, "both"]:
        part = seeds if model == "both" else seeds[seeds.index.isin([model], "model")]
        medians = part.groupby("method").median().round(5)
        out[model] = {"median_over_sets": medians.to_dict("index")}
        for k in SIZES:
            ours = part.xs(f"hyper-deep({k})", level="method")
            for other in (f"deep({k})", f"row({k})", f"hyper({k})"):
                theirs = part.xs(other, level="method")
                gain = theirs["nll"] - ours["nll"]
                out[model][f"hyper-deep({k}) against {other}"] = {
                    "median_nll_gain": round(float(gain.median()), 5),
                    "sets_better": int((gain > 0).sum()),
                    "of": len(gain),
                    **{f"p_{v}": round(wilcoxon_p(part, other, v), 6) for v in VALUES},
                }
    return out


def save(path: Path, stored: dict) -> None:
    text = json.dumps({k: v for k, v in stored.items() if k != "cases"}, indent=1)
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in stored["cases"].items()]
    joined = ",\n".join(lines)
    path.write_text(f'{text[:-2]},\n "cases": {{\n{joined}\n}}}}\n')


def rounded(case: dict) -> dict:
    return {m: {k: round(v, 6) for k, v in s.items()} for m, s in case.items()}


def run(args: argparse.Namespace, stored: dict) -> None:
    end = time.monotonic() + 60 * args.minutes
    for seed in range(args.seeds):
        for name in args.sets:
            for model in MODELS:
                key = f"{name}|{model}|{seed}"
                if key in stored["cases"] or time.monotonic() > end:
                    continue
                start = time.perf_counter()
                data = load(args.data, name, args.train, args.test, seed)
                result, n_fits = run_case(*data, model, seed, args.candidates)
                stored["cases"][key] = {
                    "scores": rounded(result),
                    "fits": n_fits,
                    "seconds": round(time.perf_counter() - start, 1),
                }
                save(args.out, stored)
                print(key, stored["cases"][key]["seconds"], "s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--train", type=int, default=800)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--summarize", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    stored = json.loads(args.out.read_text()) if args.out.exists() else {"cases": {}}
    if not args.summarize:
        stored["environment"] = environment([], range(args.seeds))
        run(args, stored)
    stored["summary"] = summarize(stored["cases"])
    save(args.out, stored)
    print(json.dumps(stored["summary"], indent=1))


if __name__ == "__main__":
    main()
