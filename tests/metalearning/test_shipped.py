# SPDX-License-Identifier: BSD-3-Clause
"""The shipped meta-data: every row says where it comes from; densities can be made."""

import pytest

from accsmbo.default_spaces import default_space
from accsmbo.metalearning import MIN_TASKS, EmpiricalDensity, shipped_tasks
from accsmbo.metalearning._shipped import GROUPS, UNITS, _load


def test_every_row_states_its_origin():
    rows = _load()
    assert rows
    for row in rows:
        assert row["metric_group"] in GROUPS
        assert row["metric"] in GROUPS[row["metric_group"]]
        assert row["kind"] in ("binary", "multiclass", "regression")
        assert row["dataset"]
        assert row["best"]
        assert row["n_evaluations"] >= 1
        assert "source" in row or {"versions", "cv", "n_rows"} <= set(row)


@pytest.mark.parametrize(
    "name",
    ["RandomForestClassifier", "HistGradientBoostingClassifier", "MLPClassifier"],
)
def test_densities_of_common_estimators(name):
    from sklearn import ensemble, neural_network

    cls = getattr(ensemble, name, None) or getattr(neural_network, name)
    tasks = shipped_tasks(name, group="accuracy", kind="binary")
    assert len(tasks) >= 10
    space = default_space(cls())
    density = EmpiricalDensity().fit_tasks(tasks, space)
    assert density.n_tasks_ >= MIN_TASKS


def test_a_benchmark_never_sees_its_own_set_nor_its_kin():
    tasks = shipped_tasks("RandomForestClassifier", group="accuracy")
    kin = {t.name for t in tasks if t.kin == "nasa"}
    assert "pc4" in kin
    space = {"min_samples_leaf": range(1, 61)}
    density = EmpiricalDensity().fit_tasks(tasks, space, exclude=["pc4"])
    assert not kin & {t.name for t in density._tasks}


def test_kinds_with_few_sets_take_all():
    every = shipped_tasks("ExtraTreesClassifier", group="accuracy")
    few = shipped_tasks("ExtraTreesClassifier", group="accuracy", kind="regression")
    assert len(few) == len(every) > 0


def test_nothing_shipped():
    assert shipped_tasks("GaussianNB", group="accuracy") == []


@pytest.mark.parametrize(
    ("max_iter", "says"), [(512, True), (100, True), (64, True), (63, False)]
)
def test_learning_rates_of_many_more_iterations_are_left_out(max_iter, says):
    every = shipped_tasks("MLPClassifier", group="accuracy")
    asked = shipped_tasks(
        "MLPClassifier", group="accuracy", settings={"max_iter": max_iter}
    )
    many = [t.name for t in every if t.origin["fixed"]["max_iter"] == 512]
    rates = ["learning_rate_init" in t.params[0] for t in asked if t.name in many]
    assert len(rates) > 10
    assert set(rates) == {says}
    assert all("alpha" in t.params[0] for t in asked)


def test_parameters_in_units_of_the_target_follow_it():
    """As they do in the models: fits on y and on 100 y give the same predictions."""
    from sklearn.datasets import make_regression
    from sklearn.linear_model import Lasso
    from sklearn.svm import SVR

    one = shipped_tasks("ElasticNet", group="squared error")
    hundred = shipped_tasks("ElasticNet", group="squared error", y_scale=100.0)
    assert len(one) >= 10
    for a, b in zip(one, hundred, strict=True):
        assert b.params[0]["alpha"] == pytest.approx(100.0 * a.params[0]["alpha"])
        assert b.params[0]["l1_ratio"] == a.params[0]["l1_ratio"]
    X, y = make_regression(40, 5, noise=1.0, random_state=0)
    y = y / y.std()
    for cls, values in ((Lasso, {"alpha": 0.1}), (SVR, {"C": 2.0, "epsilon": 0.2})):
        scaled = {k: v * 100.0 ** UNITS[cls.__name__][k] for k, v in values.items()}
        small = cls(**values).fit(X, y).predict(X)
        large = cls(**scaled).fit(X, 100.0 * y).predict(X)
        assert large == pytest.approx(100.0 * small, rel=1e-2, abs=0.5)


def test_variances_of_the_target_are_left_out():
    for task in shipped_tasks("RandomForestRegressor", group="squared error"):
        assert "min_impurity_decrease" not in task.params[0]
        assert "min_samples_leaf" in task.params[0]
