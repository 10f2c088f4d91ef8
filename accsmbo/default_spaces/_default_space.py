# SPDX-License-Identifier: BSD-3-Clause
"""default_space: the search space of an estimator and of everything inside it."""

from collections.abc import Iterator
from typing import Any

from accsmbo.default_spaces._boosting_packages import BOOSTING_PACKAGES
from accsmbo.default_spaces._kernel_methods import KERNEL_METHODS
from accsmbo.default_spaces._linear_models import LINEAR_MODELS
from accsmbo.default_spaces._neighbors_bayes_networks import NEIGHBORS_BAYES_NETWORKS
from accsmbo.default_spaces._registry import find_space, register_default_space
from accsmbo.default_spaces._transformers import TRANSFORMERS
from accsmbo.default_spaces._trees import TREES

__all__ = ["default_space"]

for _package, _table in [
    ("sklearn", LINEAR_MODELS),
    ("sklearn", KERNEL_METHODS),
    ("sklearn", TREES),
    ("sklearn", NEIGHBORS_BAYES_NETWORKS),
    ("sklearn", TRANSFORMERS),
    *BOOSTING_PACKAGES.items(),
]:
    for _class_name, _space in _table.items():
        register_default_space(f"{_package}.{_class_name}", _space)


def default_space(estimator: Any) -> dict[str, Any]:
    """Return a search space for an estimator.

    The common estimators of scikit-learn, XGBoost, LightGBM and CatBoost are known, and
    everything built of them: pipelines, unions, column transformers and all other
    estimators that hold estimators. They are recognised by name: none is imported.

    Parameters
    ----------
    estimator : estimator
        What is to be tuned.

    Returns
    -------
    dict of str to Dimension or list
        Parameter name, ``step__name`` for nested ones, to what is searched.

    Raises
    ------
    TypeError
        If ``estimator`` is no estimator.
    ValueError
        If neither the estimator nor anything inside it has a known space.

    See Also
    --------
    register_default_space : Announce the space of another class.

    Notes
    -----
    The spaces are small: what matters most, at the settings that the estimator has
    (kernel, solver, penalty, loss), so that every point can be fitted. Inputs are taken
    to be of unit scale, as are the targets of support vector regression, stochastic
    gradient descent and networks; training sets to hold at least 30 samples. Left
    alone are budgets (``n_estimators``, ``max_iter``, the ``n_components`` of a kernel
    approximation) and questions that the score must not decide (``loss``,
    ``class_weight``, ``power``, ``quantile``). Counts that must not exceed the number
    of features are searched from 1 to their current value.

    Nothing is searched inside a frozen or prefit estimator or inside another search.

    The intervals are those of Probst, Boulesteix and Bischl (JMLR 20(53), 2019), Hsu,
    Chang and Lin (A practical guide to support vector classification, 2003), van Rijn
    and Hutter (KDD 2018) and auto-sklearn (Feurer et al., NeurIPS 2015).

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.linear_model import LogisticRegression
    >>> from accsmbo.default_spaces import default_space
    >>> default_space(make_pipeline(StandardScaler(), LogisticRegression()))
    {'logisticregression__C': Real(0.0001, 10000.0, log=True)}
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            "estimator must be an estimator (an object with get_params), got "
            f"{estimator!r} (of type {type(estimator).__name__}). Pass an instance, "
            "for example SVC()."
        )
    space = dict(_walk(estimator))
    if space:
        return space
    names = ", ".join(dict.fromkeys(_class_names(estimator)))
    raise ValueError(
        "param_distributions is required for this estimator: there is no default "
        f"search space for {names}. Pass param_distributions, a dict of parameter name "
        "-> distribution or list of choices (names: estimator.get_params()), or "
        "announce a space with accsmbo.default_spaces.register_default_space."
    )


def _walk(estimator: Any) -> Iterator[tuple[str, Any]]:
    yield from find_space(estimator).items()
    for name, child in _children(estimator):
        for nested, dimension in _walk(child):
            yield f"{name}__{nested}", dimension


def _class_names(estimator: Any) -> Iterator[str]:
    yield type(estimator).__name__
    for _, child in _children(estimator):
        yield from _class_names(child)


def _children(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield the estimators directly inside, by the name that set_params knows."""
    params = estimator.get_params(deep=True)
    if _tunes_nothing_inside(estimator, params):
        return
    prefit = params.get("prefit") is True or _is_prefit(params.get("cv"))
    for name, value in params.items():
        is_estimator = hasattr(value, "get_params") and not isinstance(value, type)
        # A prefit stacking fits its final estimator only.
        is_fitted = not prefit or name == "final_estimator"
        if is_estimator and is_fitted and "__" not in name:
            yield name, value


def _tunes_nothing_inside(estimator: Any, params: dict[str, Any]) -> bool:
    is_search = "param_grid" in params or "param_distributions" in params
    return is_search or type(estimator).__name__ == "FrozenEstimator"


def _is_prefit(cv: Any) -> bool:
    return isinstance(cv, str) and cv == "prefit"
