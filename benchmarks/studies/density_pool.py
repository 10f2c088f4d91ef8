# SPDX-License-Identifier: BSD-3-Clause
"""What a density of good points gains, and what a wrong one costs: a finite pool.

    python density_pool.py --pool svc_grid.npz --seeds 6 --out density_pool.json

Real SVC(rbf) cross-validations on 32 data sets at 256 common points. Each set is tuned
with the density of all others (kin left out together). Normalised regret: 0 = best of
the pool, 1 = its median, clipped. ``centre`` is a bump in the middle of the box that
knows nothing: what it gains too is not due to meta-data. ``spike`` is wrong on purpose:
narrow, where the sets are worst on average.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common.results import environment

from accsmbo import Real
from accsmbo.acquisition import LogExpectedImprovement, MetaAcquisition
from accsmbo.metalearning import EmpiricalDensity, SourceTask
from accsmbo.space import Space
from accsmbo.surrogates import GaussianProcess
from accsmbo.surrogates._output_transforms import YeoJohnson

SPACE = {"C": Real(2**-5, 2**15, log=True), "gamma": Real(2**-15, 2**3, log=True)}
KIN = ("kc", "pc", "jm1")
SMALLEST_SPREAD = 0.01
BUDGET, N_DESIGN = 30, 3
AT = (3, 5, 10, 20, 30)
T = 5.0


class Bump(EmpiricalDensity):
    """A Gaussian at one point with a floor: a control, or a wrong belief."""

    def __init__(self, centre: Any = (0.5, 0.5), sd: float = 0.25, share: float = 0.9):
        self.centre, self.sd, self.share = centre, sd, share

    def build(self) -> "Bump":
        space = self._settle(SPACE)
        grid = (np.arange(64) + 0.5) / 64
        U = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
        self._mass = 1.0
        self._mass = float(np.mean(self._bump(U)))
        self.n_tasks_ = self.n_good_tasks_ = 99
        assert space.subspaces[0].names == ("C", "gamma")
        return self

    def _bump(self, U: Any) -> Any:
        z = (U - np.asarray(self.centre)) / self.sd
        return np.exp(-0.5 * (z**2).sum(axis=1)) / self._mass

    def pdf(self, U: Any, subspace: int = 0) -> Any:
        return self.share * self._bump(np.asarray(U)) + 1.0 - self.share

    def gradient(self, U: Any, subspace: int = 0) -> Any:
        U = np.asarray(U)
        slope = -(U - np.asarray(self.centre)) / self.sd**2
        return self.share * self._bump(U)[:, None] * slope

    def _own_points(self, subspace: int) -> Any:
        return np.array([self.centre], dtype=float)


def load(path: str, metric: str) -> tuple[Any, dict[str, Any]]:
    """Return the points and the scores of the sets with enough spread."""
    stored = np.load(path)
    sets = {
        k.split("__", 1)[1]: stored[k] for k in stored if k.startswith(f"{metric}__")
    }
    usable = {
        k: v for k, v in sets.items() if v.max() - np.median(v) >= SMALLEST_SPREAD
    }
    return stored["U"], usable


def is_kin(a: str, b: str) -> bool:
    return a == b or (a.startswith(KIN) and b.startswith(KIN))


def density_without(name: str, U: Any, sets: dict[str, Any]) -> EmpiricalDensity:
    """Return the density of all sets but one and its kin."""
    subspace = Space(SPACE).subspaces[0]
    tasks = [
        SourceTask(other, [subspace.to_params(u) for u in U], list(map(float, v)))
        for other, v in sets.items()
        if not is_kin(name, other)
    ]
    return EmpiricalDensity().fit_tasks(tasks, SPACE)


def worst_region(name: str, U: Any, sets: dict[str, Any]) -> Any:
    """Return the pool point whose neighbourhood is worst on average."""
    regret = np.mean([normalised(v) for v in sets.values()], axis=0)
    near = np.exp(-0.5 * (((U[:, None] - U[None]) / 0.12) ** 2).sum(axis=2))
    return U[int(np.argmax(near @ regret / near.sum(axis=1)))]


def normalised(scores: Any) -> Any:
    """Return regrets: 0 = best of the pool, 1 = its median, clipped."""
    best = scores.max()
    return np.clip((best - scores) / (best - np.median(scores)), 0.0, 1.0)


def run(U: Any, scores: Any, seed: Any, density: Any, form: str, mode: bool) -> Any:
    """Return the regret of the incumbent after each evaluation."""
    rng = np.random.default_rng(seed)
    order = [int(i) for i in rng.permutation(len(U))]
    if mode and density is not None:
        first = int(np.argmax(density.pdf(U)))
        order = [first, *(i for i in order if i != first)]
    seen = order[:N_DESIGN]
    model = GaussianProcess(warm_start=True)
    for step in range(BUDGET - N_DESIGN):
        t, _ = YeoJohnson().transform(-scores[seen])
        model.fit(U[seen], t)
        acquisition: Any = LogExpectedImprovement()
        if density is not None:
            acquisition = MetaAcquisition(
                acquisition, density, fade=T, form=form, step=step
            )
        a = acquisition.evaluate(model, U, float(t.min()))
        a[seen] = -np.inf
        seen.append(int(np.argmax(a)))
    return np.minimum.accumulate(normalised(scores)[seen])


def variants() -> Iterator[tuple[str, str, str, bool]]:
    """Yield name, density, form, and whether its mode is the first point."""
    yield "none", "none", "mixture", False
    for source in ("learned", "centre", "spike"):
        yield f"{source} mixture", source, "mixture", False
        yield f"{source} mixture, mode first", source, "mixture", True
        yield f"{source} piBO", source, "pibo", False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pool", required=True)
    parser.add_argument("--metric", default="acc")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    U, sets = load(args.pool, args.metric)
    curves: dict[str, list[Any]] = {name: [] for name, *_ in variants()}
    for number, (name, scores) in enumerate(sets.items()):
        densities = {
            "none": None,
            "learned": density_without(name, U, sets),
            "centre": Bump().build(),
            "spike": Bump(worst_region(name, U, sets), 0.12, 0.95).build(),
        }
        for label, source, form, mode in variants():
            found = [
                run(
                    U,
                    scores,
                    [number, args.first_seed + s],
                    densities[source],
                    form,
                    mode,
                )
                for s in range(args.seeds)
            ]
            curves[label].append(np.mean(found, axis=0))
        print(name, flush=True)
    base = np.array(curves["none"])
    rows = []
    for label, found in curves.items():
        table = np.array(found)
        difference = (table - base)[:, [4, 9, 19]].mean(axis=1)
        picks = np.random.default_rng(0).integers(len(base), size=(2000, len(base)))
        interval = np.quantile(difference[picks].mean(axis=1), [0.025, 0.975])
        row = {
            "form": label,
            **{f"r{n}": round(float(table[:, n - 1].mean()), 3) for n in AT},
            "mean_5_10_20_minus_none": round(float(difference.mean()), 3),
            "interval": interval.round(3).tolist(),
            "r30_minus_none": round(float((table - base)[:, 29].mean()), 3),
        }
        rows.append(row)
        print(row)
    result = {
        "question": (__doc__ or "").splitlines()[0],
        "environment": environment(
            ["accsmbo"], range(args.first_seed, args.first_seed + args.seeds)
        ),
        "n_sets": len(sets),
        "seeds": list(range(args.first_seed, args.first_seed + args.seeds)),
        "rows": rows,
    }
    Path(args.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
