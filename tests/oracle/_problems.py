# SPDX-License-Identifier: BSD-3-Clause
"""Random search problems: a recipe of plain values, and what is built from it.

A recipe is a dict of strings and numbers, so that it can be printed, stored and shrunk.
Building it twice gives equal objects that share nothing.
"""

import random
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import (
    get_scorer,
    hinge_loss,
    log_loss,
    make_scorer,
    mean_squared_error,
)

from accsmbo.hypergradients import squared_hinge_loss
from tests.oracle import _parts
from tests.oracle._data import in_form, make_cv, make_rows, make_target, make_weight
from tests.oracle._models import MODELS
from tests.oracle._pipelines import PIPELINES, make_space

__all__ = ["Problem", "build", "draw", "problems"]

# What may be drawn for each ingredient, and how often against the others. The first
# is the plain one.
X_FORMS = {
    "dense": 8, "fortran": 1, "float32": 2, "integers": 1, "csr": 2, "csc": 1,
    "frame": 2, "shuffled frame": 2, "string frame": 1, "numbered frame": 1,
    "duplicate names": 1, "mixed names": 0.3, "list": 1, "read-only": 1,
}  # fmt: skip
CLASS_TARGETS = {
    "plain": 6, "strings": 2, "bool": 1, "negative": 2, "floats": 1, "far": 1,
    "column": 1, "one-column frame": 0.5, "series": 2, "string series": 1, "list": 1,
}  # fmt: skip
NUMBER_TARGETS = {
    "plain": 6, "two outputs": 2, "integers": 1, "float32": 1, "column": 1,
    "one-column frame": 0.5, "series": 2, "string series": 1, "list": 1,
}  # fmt: skip
WEIGHTS = {
    "none": 10, "array": 3, "list": 1, "series": 2, "string series": 1, "zeros": 1,
    "integers": 1,
}  # fmt: skip
SPLITTERS = {
    "int": 6, "kfold": 2, "shuffled": 2, "stratified": 2, "groups": 1.5, "time": 1.5,
    "predefined": 1, "leave one out": 0.7, "repeated": 0.7, "random parts": 1,
    "iterator": 1, "lists": 1, "masks": 1, "one test row": 1, "lacks a class": 1,
}  # fmt: skip
SMOOTH_CLASS_METRICS = {
    "neg_log_loss": 5, "neg_brier_score": 1, "log loss scorer": 1, "hinge": 1,
    "squared hinge": 1,
}  # fmt: skip
CLASS_METRICS = {
    None: 4, **SMOOTH_CLASS_METRICS, "accuracy": 2, "f1_macro": 1, "roc_auc": 1,
    "roc_auc_ovr": 0.5, "balanced_accuracy": 1, "wrong sign": 0.5, "scaled log loss": 1,
    "own scorer": 1, "callable": 1, "callable dict": 1, "list": 1, "dict": 1,
    "fails on few": 0.7,
}  # fmt: skip
SMOOTH_NUMBER_METRICS = {
    "neg_mean_squared_error": 4, "r2": 2, "neg_root_mean_squared_error": 1, None: 3,
    "squared error scorer": 1,
}  # fmt: skip
NUMBER_METRICS = {
    **SMOOTH_NUMBER_METRICS, "neg_mean_absolute_error": 1, "neg_max_error": 0.5,
    "explained_variance": 1, "own scorer": 1, "callable": 1, "callable dict": 1,
    "list": 1, "dict": 1, "fails on few": 0.7,
}  # fmt: skip
POSITIVE_METRICS = {
    "neg_mean_poisson_deviance": 2, "neg_mean_gamma_deviance": 1, **NUMBER_METRICS,
}  # fmt: skip
SEARCHES = {
    "AccSMBOSearchCV": 8, "SMBOSearchCV": 2, "RandomizedSearchCV": 2,
    "GridSearchCV": 2, "HOAGSearchCV": 1,
}  # fmt: skip
SPACES = {
    "penalties": 6, "mixed": 3, "integers": 1, "lists": 2, "dicts": 1, "transformer": 2,
    "steps": 1, "far": 1,
}  # fmt: skip
NEUTRAL = {
    "verbose 1": 2, "verbose 2": 2, "storage": 1.5, "keep_predictions": 2,
    "callbacks": 2, "timeout": 2, "n_jobs": 0.2,
}  # fmt: skip


@dataclass
class Problem:
    """A recipe made real.

    Parameters
    ----------
    recipe : dict
        What it was built from.
    estimator, space, X, y, fit_params, cv, scoring, refit : object
        What a search is given.
    """

    recipe: dict[str, Any]
    estimator: Any
    space: Any
    X: Any
    y: Any
    fit_params: dict[str, Any]
    cv: Any
    scoring: Any
    refit: Any


class _Dice:
    """Draws from tables of weights; ``plain`` gives the first entry more weight."""

    def __init__(self, source, plain):
        self.source = source
        self.plain = plain

    def of(self, table):
        """Return a key: the first with probability ``plain``."""
        if self.chance(self.plain):
            return next(iter(table))
        return self.source.choices(list(table), list(table.values()))[0]

    def any_of(self, table):
        """Return a key by the weights alone."""
        return self.source.choices(list(table), list(table.values()))[0]

    def chance(self, share):
        """Return True with this probability."""
        return self.source.random() < share

    def between(self, low, high):
        """Return an integer, ends included."""
        return self.source.randint(low, high)


def draw(source):
    """Return a recipe.

    Parameters
    ----------
    source : random.Random
        Or anything with its methods, such as what hypothesis shrinks.

    Returns
    -------
    dict
        Of strings, numbers and None.
    """
    aim = _Dice(source, 0).any_of({"any": 5, "joint": 2, "gradients": 2})
    dice = _Dice(source, {"any": 0.55, "joint": 0.9, "gradients": 0.85}[aim])
    models = {
        name: model.weight
        for name, model in MODELS.items()
        if aim == "any" or aim in model.routes
    }
    recipe = {"aim": aim, "seed": dice.between(0, 2**32 - 1)}
    recipe["model"] = dice.any_of(models)
    model = MODELS[recipe["model"]]
    settings = len(model.settings)
    odd = settings and dice.chance({"any": 0.5, "joint": 0.0, "gradients": 0.3}[aim])
    recipe["settings"] = dice.between(0, settings - 1) if odd else None
    _draw_data(recipe, dice, model)
    _draw_space(recipe, dice, model)
    _draw_metric(recipe, dice, model)
    _draw_search(recipe, dice)
    return recipe


def _draw_data(recipe, dice, model):
    exact = recipe["aim"] != "any"
    recipe["pipeline"] = dice.of(
        {name: p.weight for name, p in PIPELINES.items() if p.fits(model)}
    )
    recipe["cv"] = dice.of(SPLITTERS)
    recipe["n_folds"] = dice.between(2, 4 if recipe["cv"] != "repeated" else 2)
    few = recipe["cv"] == "leave one out"
    recipe["n_rows"] = dice.between(12, 16) if few else dice.between(30, 90)
    recipe["n_columns"] = dice.between(3, 8)
    if recipe["pipeline"] == "mask":
        recipe["n_rows"], recipe["n_columns"] = 40, 1200
    recipe["scales"] = "mixed" if dice.chance(0.15) else "one"
    recipe["X"] = dice.of(X_FORMS)
    recipe["y"] = dice.of(CLASS_TARGETS if model.kind == "classes" else NUMBER_TARGETS)
    two = recipe["y"] == "bool" or not dice.chance(0.3)
    recipe["n_classes"] = 2 if two else 3
    recipe["rare"] = not exact and dice.chance(0.08)
    recipe["weights"] = dice.of(WEIGHTS)
    recipe["routing"] = not exact and dice.chance(0.06)
    if recipe["routing"] and recipe["weights"] == "none":
        recipe["weights"] = "series"


def _draw_space(recipe, dice, model):
    spaces = SPACES if recipe["pipeline"] != "mask" else {"mask": 3, "penalties": 1}
    smooth = recipe["aim"] != "any" and recipe["pipeline"] != "mask"
    recipe["space"] = "penalties" if smooth else dice.of(spaces)
    recipe["n_penalties"] = dice.between(1, 2)
    if recipe["aim"] == "joint" and not recipe["model"].startswith("group"):
        recipe["n_penalties"] = 1
    recipe["pick"] = dice.between(0, 5)


def _draw_metric(recipe, dice, model):
    smooth = SMOOTH_CLASS_METRICS
    tables = {"classes": CLASS_METRICS, "numbers": NUMBER_METRICS}
    table = tables.get(model.kind, POSITIVE_METRICS)
    if recipe["aim"] != "any":
        table = smooth if model.kind == "classes" else SMOOTH_NUMBER_METRICS
        margins = {"linear_svc", "svc", "ridge_classifier"} & {recipe["model"]}
        if margins:
            table = {"squared hinge": 2, "hinge": 1}
    recipe["scoring"] = dice.any_of(table)
    several = {"list", "dict", "callable dict"} & {recipe["scoring"]}
    plain = "second" if several else True
    others = {plain: 8, "worst": 1, "last": 1, False: 0.5}
    recipe["refit"] = dice.any_of(others)
    recipe["error_score"] = dice.any_of({"nan": 6, "raise": 2, -1.0: 1})
    recipe["return_train_score"] = dice.chance(0.08)


def _draw_search(recipe, dice):
    searches = SEARCHES if recipe["aim"] == "any" else {"AccSMBOSearchCV": 9}
    if recipe["aim"] == "joint":
        searches = {"AccSMBOSearchCV": 6, "HOAGSearchCV": 2}
    elif recipe["aim"] == "gradients":
        searches = {"AccSMBOSearchCV": 7, "HOAGSearchCV": 1}
    recipe["search"] = dice.any_of(searches)
    solvers = {"auto": 8, "gradients": 1, "estimator": 1, "joint": 0.3}
    if recipe["aim"] == "gradients":
        solvers = {"auto": 4, "gradients": 5}
    recipe["solver"] = dice.any_of(solvers)
    recipe["n_iter"] = dice.between(2, 6)
    recipe["random_state"] = dice.between(0, 99)
    recipe["neutral"] = []
    if dice.chance(0.4):
        changes = {dice.any_of(NEUTRAL) for _ in range(dice.between(1, 3))}
        if "verbose 2" in changes:
            changes.discard("verbose 1")
        recipe["neutral"] = sorted(changes)


def problems():
    """Return a hypothesis strategy of recipes, which shrinks towards plain ones.

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of dicts, as from :func:`draw`.
    """
    from hypothesis import strategies as st

    return st.randoms(use_true_random=False).map(draw)


def recipe_of(seed):
    """Return the recipe of a seed.

    Parameters
    ----------
    seed : int
        Any.

    Returns
    -------
    dict
        As from :func:`draw`.
    """
    return draw(random.Random(seed))


def build(recipe, folder):
    """Return the problem of a recipe; nothing in it is shared with another one.

    Parameters
    ----------
    recipe : dict
        From :func:`draw`.
    folder : Path
        An empty one, for caches.

    Returns
    -------
    Problem
        Made of new objects.
    """
    rng = np.random.default_rng(recipe["seed"])
    model = MODELS[recipe["model"]]
    raw = make_rows(recipe, rng)
    y, codes = make_target(recipe, model.kind, raw, rng)
    final = model.make(raw.shape[1])
    if recipe["settings"] is not None:
        final.set_params(**model.settings[recipe["settings"]])
    estimator, prefix = PIPELINES[recipe["pipeline"]].make(final, recipe, raw, folder)
    cv, groups = make_cv(recipe, codes, rng)
    weight = make_weight(recipe["weights"], len(raw), rng)
    scoring = make_scoring(recipe["scoring"], model.kind)
    fit_params = {} if groups is None else {"groups": groups}
    if weight is not None:
        whole = recipe["routing"]
        fit_params["sample_weight" if whole else f"{prefix}sample_weight"] = weight
    if recipe["routing"]:
        scoring = _ask_for_weights(estimator, scoring, rng)
    return Problem(
        recipe,
        estimator,
        make_space(recipe, model, estimator, prefix),
        in_form(raw, recipe["X"], rng),
        y,
        fit_params,
        cv,
        scoring,
        _refit(recipe, scoring),
    )


def _refit(recipe, scoring):
    if recipe["refit"] == "second" and isinstance(scoring, list):
        return scoring[1]
    functions = {"worst": _parts.worst_row, "last": _parts.last_row}
    return functions.get(recipe["refit"], recipe["refit"])


def make_scoring(name, kind):
    """Return what a search takes as ``scoring``."""
    several = {"first": "r2", "second": "neg_mean_squared_error"}
    if kind == "classes":
        several = {"first": "accuracy", "second": "neg_log_loss"}
    smaller = {"greater_is_better": False}
    proba = {"response_method": "predict_proba"}
    margin = {"response_method": "decision_function"}
    makers = {
        "log loss scorer": lambda: make_scorer(log_loss, **smaller, **proba),
        "wrong sign": lambda: make_scorer(log_loss, **proba),
        "scaled log loss": lambda: make_scorer(
            _parts.scaled_log_loss, **smaller, **proba, factor=3.0
        ),
        "hinge": lambda: make_scorer(hinge_loss, **smaller, **margin),
        "squared hinge": lambda: make_scorer(squared_hinge_loss, **smaller, **margin),
        "squared error scorer": lambda: make_scorer(mean_squared_error, **smaller),
        "own scorer": lambda: make_scorer(_parts.weighted_error, **smaller),
        "callable": lambda: _parts.one_float,
        "callable dict": lambda: _parts.several_floats,
        "fails on few": lambda: _parts.fails_on_few,
        "list": lambda: list(several.values()),
        "dict": lambda: dict(several),
    }
    return makers[name]() if name in makers else name


def _ask_for_weights(estimator, scoring, rng):
    """Set requests for metadata of all consumers; return the scoring with its own."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    for part in parts:
        for method in ("fit", "score"):
            ask = getattr(part, f"set_{method}_request", None)
            if ask is not None and not isinstance(part, type):
                with suppress(TypeError):  # takes no sample_weight
                    ask(sample_weight=bool(rng.random() < 0.8))
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    if hasattr(scorer, "set_score_request") and rng.random() < 0.9:
        return scorer.set_score_request(sample_weight=True)
    return scoring
