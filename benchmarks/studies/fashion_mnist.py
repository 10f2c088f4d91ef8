# SPDX-License-Identifier: BSD-3-Clause
"""Table 1 of the hyperparameter-ensembles paper on Fashion-MNIST, with MLP or LeNet.

    OMP_NUM_THREADS=1 python fashion_mnist.py --epochs 100 --out FILE

Data: the Debian package `dataset-fashion-mnist`, which this script does not install:
`apt-get install dataset-fashion-mnist`. The official training images are split 80:20
into training and validation; `--fraction` uses a part of both. K = 3 members.

- `single`: best of random search and of AccSMBO, `--candidates` trials each, by
  validation likelihood; L2 of kernels and biases in [1e-3, 1e3], dropout in
  [1e-3, 0.9]. The L2 strengths are divided by the number of images; with `--fraction`
  both ends are that much smaller, for all methods, so that the weights see the same.
- `deep`: that configuration with K seeds.
- `row`: greedy selection of K from the random search, one seed.
- `hyper-deep`: `row`, stratified over K seeds, selected again.
- `batch`: batch ensemble; the best of its own random search of `--candidates`.
- `self-tuning`, `hyper-batch`: tune themselves on the validation images.

Searches train for `--search-epochs` on `--search-fraction` of the images (as the final
runs, if not given); the final runs for `--epochs`, the last `--final-epochs` of them at
`--final-learning-rate`. Every finished method is written to `--out` at once; a method
that is there already is not run again.
"""

import argparse
import gzip
import json
import resource
import time
import zlib
from pathlib import Path

import numpy as np
from _common.results import environment

from accsmbo import Real, minimize
from accsmbo.ensembles import (
    BatchEnsembleClassifier,
    HyperBatchEnsembleClassifier,
    SelfTuningClassifier,
    greedy_selection,
)
from accsmbo.ensembles.metrics import (
    accuracy,
    brier_score,
    expected_calibration_error,
    negative_log_likelihood,
    predictive_disagreement,
)
from accsmbo.optimizers import RandomSearch

FOLDER = Path("/usr/share/datasets/fashion-mnist")
K = 3
METHODS = [
    "hyper-batch",
    "batch",
    "self-tuning",
    "deep",
    "single",
    "row",
    "hyper-deep",
]
L2_BOUNDS = 1e-3, 1e3
DROPOUT_BOUNDS = 1e-3, 0.9
# NLL, accuracy, ECE of Table 1 (fmnist).
PAPER = {
    "mlp": {
        "single": (0.323, 0.889, 0.013),
        "row": (0.312, 0.893, 0.012),
        "hyper-deep": (0.310, 0.895, 0.014),
        "deep": (0.319, 0.889, 0.010),
        "batch": (0.351, 0.884, 0.020),
        "self-tuning": (0.316, 0.890, 0.016),
        "hyper-batch": (0.308, 0.892, 0.016),
    },
    "lenet": {
        "single": (0.232, 0.919, 0.017),
        "row": (0.219, 0.924, 0.014),
        "hyper-deep": (0.216, 0.926, 0.018),
        "deep": (0.226, 0.920, 0.013),
        "batch": (0.230, 0.920, 0.017),
        "self-tuning": (0.224, 0.920, 0.015),
        "hyper-batch": (0.212, 0.924, 0.009),
    },
}


def read(name: str, kind: str) -> np.ndarray:
    path = FOLDER / f"{name}-{kind}-ubyte.gz"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing. Install it: apt-get install dataset-fashion-mnist"
        )
    with gzip.open(path) as file:
        content = file.read()
    if kind.startswith("labels"):
        return np.frombuffer(content, np.uint8, offset=8)
    images = np.frombuffer(content, np.uint8, offset=16).reshape(-1, 784)
    return images.astype(np.float32) / 255.0


class Study:
    """One seed: data, settings and what the searches found."""

    def __init__(self, options: argparse.Namespace, seed: int) -> None:
        self.options = options
        self.seed = seed
        X, y = read("train", "images-idx3"), read("train", "labels-idx1")
        order = np.random.default_rng(seed).permutation(len(y))
        n = round(len(y) * options.fraction)
        # The self-tuning methods get both parts and hold out a fifth by themselves.
        self.held, self.kept = order[: n // 5], order[n // 5 : n]
        self.X, self.y = X, y
        self.test = read("t10k", "images-idx3"), read("t10k", "labels-idx1")
        self.l2_bounds = tuple(end * options.fraction for end in L2_BOUNDS)
        self.space = {
            "alpha": Real(*self.l2_bounds, log=True),
            "alpha_bias": Real(*self.l2_bounds, log=True),
            "dropout": Real(*DROPOUT_BOUNDS, log=True),
        }
        self._random: list[dict] | None = None
        self._single: dict | None = None

    def common(self, epochs: int | None = None) -> dict:
        return {
            "hidden_layer_sizes": (200, 200),
            "architecture": self.options.architecture,
            "image_shape": (28, 28) if self.options.architecture == "lenet" else None,
            "learning_rate_init": self.options.learning_rate,
            "batch_size": self.options.batch_size,
            "max_iter": epochs or self.options.epochs - self.options.final_epochs,
            "random_state": self.seed,
            "verbose": int(self.options.verbose),
        }

    def fit(self, model, rows: np.ndarray, name: str):
        """Fit in two phases, the second at the final learning rate.

        An interrupted first phase resumes from its checkpoint.
        """
        X, y = self.X[rows], self.y[rows]
        folder = self.options.checkpoints
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            model.set_params(checkpoint=folder / f"{name}.npz")
        model.set_params(warm_start=True).fit(X, y)
        model.set_params(checkpoint=None)
        if self.options.final_epochs:
            rate = self.options.final_learning_rate
            model.set_params(
                max_iter=self.options.final_epochs, learning_rate_init=rate
            ).fit(X, y)
        return model

    def search_rows(self) -> np.ndarray:
        share = self.options.search_fraction or 1.0
        return self.kept[: round(share * len(self.kept))]

    def plain(self, params: dict, rows: np.ndarray, **changes) -> dict:
        """Train one network without factors and return its predictions."""
        epochs = changes.pop("epochs", None)
        model = BatchEnsembleClassifier(
            **(self.common(epochs) | params | changes), n_members=1, factor_init=None
        )
        if epochs:
            model.fit(self.X[rows], self.y[rows])
        else:
            key = json.dumps([params, model.random_state])
            self.fit(model, rows, f"single-{zlib.crc32(key.encode()):08x}")
        found = {"params": params, "test": model.predict_proba(self.test[0])}
        found["validation"] = model.predict_proba(self.X[self.held])
        found["value"] = self.validation_loss(found["validation"])
        return found

    def validation_loss(self, probabilities: np.ndarray) -> float:
        labels = np.arange(10)
        return negative_log_likelihood(self.y[self.held], probabilities, labels=labels)

    def search(self, optimizer) -> list[dict]:
        trials: list[dict] = []

        def objective(params: dict) -> float:
            epochs = self.options.search_epochs
            trials.append(self.plain(params, self.search_rows(), epochs=epochs))
            return trials[-1]["value"]

        n_trials = self.options.candidates
        minimize(
            objective,
            self.space,
            optimizer=optimizer,
            n_trials=n_trials,
            random_state=self.seed,
        )
        return trials

    @property
    def random(self) -> list[dict]:
        if self._random is None:
            self._random = self.search(RandomSearch())
        return self._random

    @property
    def best(self) -> dict:
        """The better of random search and AccSMBO."""
        if self._single is None:
            trials = list(self.random)
            if not self.options.random_only:
                from accsmbo import AccSMBO

                trials += self.search(AccSMBO())
            self._single = min(trials, key=lambda trial: trial["value"])
        return self._single

    def members(self, method: str) -> tuple[np.ndarray, dict]:
        """Return test predictions of the members and what was chosen."""
        name = method.replace("-", "_")
        return getattr(self, f"run_{name}")()

    def run_single(self):
        found = self.plain(self.best["params"], self.kept)
        return found["test"][None], {"params": found["params"]}

    def run_deep(self):
        seeds = range(self.seed * 1000, self.seed * 1000 + K)
        params = self.best["params"]
        runs = [self.plain(params, self.kept, random_state=s) for s in seeds]
        return np.stack([run["test"] for run in runs]), {"params": params}

    def select(self, trials: list[dict]) -> list[dict]:
        chosen = greedy_selection(
            np.stack([trial["validation"] for trial in trials]),
            self.y[self.held],
            n_members=K,
            labels=np.arange(10),
        )
        return [
            trials[i] | {"weight": chosen.weights[i]}
            for i in np.flatnonzero(chosen.weights)
        ]

    def run_row(self):
        chosen = self.select(self.random)
        return self.weighted(chosen)

    def run_hyper_deep(self):
        row = self.select(self.random)
        seeds = range(self.seed * 1000, self.seed * 1000 + K)
        trials = [
            self.plain(trial["params"], self.kept, random_state=seed)
            for trial in row
            for seed in seeds
        ]
        return self.weighted(self.select(trials))

    def weighted(self, chosen: list[dict]):
        found = {
            "params": [trial["params"] for trial in chosen],
            "weights": [float(trial["weight"]) for trial in chosen],
        }
        return np.stack([trial["test"] for trial in chosen]), found

    def run_batch(self):
        """Search at the search budget, then train with the best of it."""
        rng = np.random.default_rng(self.seed)
        rows = self.search_rows()
        best = None
        for _ in range(self.options.candidates):
            params = {
                name: float(np.exp(rng.uniform(np.log(d.low), np.log(d.high))))
                for name, d in self.space.items()
            }
            params |= dict(
                zip(
                    ("factor_init", "factor_scale"),
                    FACTORS[rng.integers(len(FACTORS))],
                    strict=True,
                )
            )
            model = BatchEnsembleClassifier(
                **self.common(self.options.search_epochs), n_members=K, **params
            ).fit(self.X[rows], self.y[rows])
            value = self.validation_loss(model.predict_proba(self.X[self.held]))
            if best is None or value < best[0]:
                best = value, params
        model = BatchEnsembleClassifier(**self.common(), n_members=K, **best[1])
        self.fit(model, self.kept, f"batch-{self.seed}")
        return self.fitted(model, {"params": best[1]})

    def tuned(self) -> dict:
        return {
            "l2_bounds": self.l2_bounds,
            "dropout_bounds": DROPOUT_BOUNDS,
            "tuning": self.options.tuning,
            "tuning_learning_rate": self.options.tuning_learning_rate,
            "entropy_weight": self.options.entropy_weight,
            "warmup_epochs": self.options.warmup_epochs,
            "validation_fraction": 0.2,
        }

    def run_self_tuning(self):
        return self.fit_tuned(SelfTuningClassifier(**self.common(), **self.tuned()))

    def run_hyper_batch(self):
        kind, scale = self.options.factors.split(":")
        return self.fit_tuned(
            HyperBatchEnsembleClassifier(
                **self.common(),
                **self.tuned(),
                n_members=K,
                factor_init=kind,
                factor_scale=float(scale),
            )
        )

    def fit_tuned(self, model):
        """Fit on both parts: the model holds out a fifth itself to tune on."""
        rows = np.concatenate([self.held, self.kept])
        self.fit(model, rows, f"{type(model).__name__}-{self.seed}")
        return self.fitted(
            model,
            {
                "hyperparameters": model.hyperparameter_names_,
                "means": model.lambda_mean_.round(6).tolist(),
                "ranges": model.lambda_path_[-1, ..., :2].round(6).tolist(),
            },
        )

    def fitted(self, model, found: dict):
        found["loss_curve"] = [round(v, 5) for v in model.loss_curve_]
        found["n_parameters"] = model.n_parameters_
        return model.predict_proba_members(self.test[0]), found


PATHS = ("out", "methods", "checkpoints")
FACTORS = [("signs", 0.5), ("signs", 0.75), ("gaussian", 0.5), ("gaussian", 0.75)]


def scores(members: np.ndarray, y: np.ndarray, weights=None) -> dict[str, float]:
    labels = np.arange(10)
    p = np.average(members, axis=0, weights=weights)
    found = {
        "nll": negative_log_likelihood(y, p, labels=labels),
        "accuracy": accuracy(y, p, labels=labels),
        "ece": expected_calibration_error(y, p, labels=labels),
        "brier": brier_score(y, p, labels=labels),
    }
    if len(members) > 1:
        found["diversity"] = predictive_disagreement(members, y, labels=labels)
    return {name: round(float(value), 5) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--checkpoints", type=Path, help="folder")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--architecture", choices=["mlp", "lenet"], default="mlp")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--fraction", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--tuning-learning-rate", type=float, default=2.5e-3)
    parser.add_argument("--entropy-weight", type=float, default=1e-3)
    parser.add_argument("--warmup-epochs", type=int, default=5)
    parser.add_argument("--final-epochs", type=int, default=0)
    parser.add_argument("--final-learning-rate", type=float, default=1e-4)
    parser.add_argument("--tuning", choices=["global", "layerwise"], default="global")
    parser.add_argument(
        "--factors", default="signs:0.75", help="hyper-batch: kind:scale"
    )
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--random-only", action="store_true", help="no AccSMBO")
    parser.add_argument("--search-epochs", type=int)
    parser.add_argument("--search-fraction", type=float)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    results["paper (nll, accuracy, ece)"] = PAPER[options.architecture]
    runs = results.setdefault("runs", {})
    for seed in options.seeds:
        study = Study(options, seed)
        for method in options.methods:
            key = f"{method}|seed {seed}"
            if key in runs:
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            members, found = study.members(method)
            run = scores(members, study.test[1], found.get("weights"))
            run["seconds"] = round(time.perf_counter() - wall, 1)
            run["cpu_seconds"] = round(time.process_time() - cpu, 1)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            run["peak_memory_mb"] = round(peak / 1024)
            given = {k: v for k, v in vars(options).items() if k not in PATHS}
            runs[key] = (
                run | {"found": found, "settings": given} | environment([], [seed])
            )
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
