# SPDX-License-Identifier: BSD-3-Clause
"""Estimators that bend the rules, wrappers, what a search hands on, pickling."""

import inspect
import pickle

import cloudpickle
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from accsmbo import Real, SMBOSearchCV
from tests._searches import (
    SAMPLING,
    SEARCHES,
    Recorder,
    assert_rows_are_plain,
    make_search,
    small_data,
)

C = Real(1e-2, 1e2, log=True)


class FreeKeywords(ClassifierMixin, BaseEstimator):
    """Takes parameters that its `get_params` does not list until they are set."""

    def __init__(self, C=1.0, **kwargs):
        self.C = C
        self.kwargs = kwargs

    @classmethod
    def _get_param_names(cls):
        return ["C"]

    def get_params(self, deep=True):
        return {"C": self.C, **self.kwargs}

    def set_params(self, **params):
        for name, value in params.items():
            if name == "C":
                self.C = value
            elif name.startswith("module__"):
                self.kwargs[name] = value
            else:
                raise ValueError(f"no {name}")
        return self

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def score(self, X, y):
        return -abs(self.kwargs.get("module__h", 0) - 3)


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_name_that_only_set_params_knows_is_searched(cls):
    """Case 87: https://github.com/skorch-dev/skorch/issues/667."""
    space = {"module__h": [1, 2, 3, 4]}
    search = make_search(cls, FreeKeywords(), space, n_iter=4, cv=2, refit=False)
    search.fit(*small_data())
    assert search.best_params_ == {"module__h": 3}
    assert search.best_score_ == 0


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_name_that_set_params_refuses_is_refused_at_once(cls):
    """Case 87: https://github.com/civisanalytics/muffnn/issues/42."""
    search = make_search(cls, FreeKeywords(), {"modul__h": [1, 2]}, n_iter=2)
    with pytest.raises(ValueError, match="Invalid parameter 'modul__h'"):
        search.fit(*small_data())


class Copies(Recorder):
    """Copies a list of its constructor, against the rules of clone."""

    def __init__(self, a=None, columns=()):
        self.a = a
        self.b = self.c = self.log = self.value = None
        self.columns = list(columns)


@pytest.mark.parametrize("cls", SEARCHES)
def test_what_cannot_be_cloned_is_named_at_once_as_by_scikit_learn(cls):
    """Case 89: https://github.com/catboost/catboost/issues/3078."""
    estimator, data = Copies(columns=["c"]), small_data()
    with pytest.raises(
        RuntimeError, match=r"Cannot clone object .*columns"
    ) as expected:
        GridSearchCV(estimator, {"a": [1, 2]}).fit(*data)
    with pytest.raises(RuntimeError, match=r"Cannot clone object .*columns") as error:
        make_search(cls, estimator, {"a": [1, 2]}, n_iter=2).fit(*data)
    assert str(error.value) == str(expected.value)


def test_catboost_with_a_list_in_its_constructor():
    """Case 89: https://github.com/catboost/catboost/issues/3078."""
    catboost = pytest.importorskip("catboost")
    search = SMBOSearchCV(
        catboost.CatBoostClassifier(cat_features=["c"]), {"depth": [2, 3, 4]}, n_iter=3
    )
    with pytest.raises(RuntimeError, match="Cannot clone object"):
        search.fit(*small_data())


@pytest.mark.parametrize("cls", SAMPLING)
def test_a_wrapper_and_what_it_wraps_are_searched_together(cls):
    """Case 111: https://github.com/scikit-learn/scikit-learn/issues/8710."""
    X, y = small_data()
    inner = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    space = {"method": ["sigmoid", "isotonic"], "estimator__linearsvc__C": C}
    search = make_search(
        cls, CalibratedClassifierCV(inner, cv=2), space, n_iter=5, cv=2
    )
    assert_rows_are_plain(search.fit(X, y), X, y)
    wrong = make_search(cls, CalibratedClassifierCV(inner), {"linearsvc__C": C})
    with pytest.raises(ValueError, match="Did you mean 'estimator__linearsvc__C'"):
        wrong.fit(X, y)


def stack(final):
    first = make_pipeline(StandardScaler(), LogisticRegression())
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    return StackingClassifier([("lr", first), ("tree", tree)], final, cv=2)


@pytest.mark.parametrize("cls", SAMPLING)
def test_the_models_of_a_stack_are_searched_together(cls):
    """Case 111: https://github.com/rasbt/mlxtend/issues/253."""
    X, y = small_data()
    space = {"lr__logisticregression__C": C, "final_estimator__C": C}
    search = make_search(cls, stack(LogisticRegression()), space, n_iter=4, cv=2)
    assert_rows_are_plain(search.fit(X, y), X, y)


@pytest.mark.parametrize("cls", SEARCHES)
def test_a_parameter_of_a_step_that_is_none_is_explained(cls):
    """Case 111: https://github.com/rasbt/mlxtend/issues/253."""
    search = make_search(cls, stack(None), {"final_estimator__C": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'final_estimator' is None, which has no par"):
        search.fit(*small_data())
    pipeline = make_pipeline("passthrough", LogisticRegression())
    search = make_search(cls, pipeline, {"passthrough__with_mean": [True, False]})
    with pytest.raises(ValueError, match="'passthrough' is 'passthrough', which has"):
        search.fit(*small_data())


@pytest.mark.parametrize("cls", SAMPLING)
def test_a_parameter_of_a_step_that_is_searched_over_is_left_alone(cls):
    """Case 111: https://github.com/rasbt/mlxtend/issues/253."""
    X, y = small_data()
    final = [LogisticRegression(), LogisticRegression(fit_intercept=False)]
    space = {"final_estimator": final, "final_estimator__C": C}
    search = make_search(cls, stack(None), space, n_iter=3, cv=2, refit=False)
    assert np.isfinite(search.fit(X, y).best_score_)


@pytest.mark.parametrize("cls", SAMPLING)
def test_inverse_transform_is_that_of_the_best_estimator(cls):
    """Case 113: https://github.com/scikit-learn/scikit-learn/issues/8846."""
    X, _ = small_data()
    model = make_pipeline(StandardScaler(), PCA())
    search = make_search(cls, model, {"pca__n_components": [1, 2]}, n_iter=2, cv=2)
    search.fit(X)
    expected = search.best_estimator_.inverse_transform(search.transform(X))
    np.testing.assert_array_equal(
        search.inverse_transform(search.transform(X)), expected
    )
    assert np.linalg.norm(expected - X) < np.linalg.norm(X - X.mean(axis=0))


def test_a_search_without_a_target_transforms():
    """Case 113: https://github.com/scikit-learn/scikit-learn/issues/8846."""
    X, _ = small_data()
    model = KMeans(n_init=1, random_state=0)
    search = SMBOSearchCV(model, {"n_clusters": [2, 3, 4]}, n_iter=3, cv=2).fit(X)
    assert_rows_are_plain(search, X, None)
    assert search.transform(X).shape == (len(X), search.best_params_["n_clusters"])


@pytest.mark.parametrize("cls", SAMPLING)
def test_a_lambda_as_scorer_goes_to_workers(cls):
    """Case 117: https://github.com/scikit-learn/scikit-learn/issues/9467."""
    X, y = load_iris(return_X_y=True)
    search = make_search(
        cls,
        SVC(),
        {"C": C},
        n_iter=4,
        cv=2,
        n_jobs=2,
        scoring=lambda model, X, y: model.score(X, y) - 1.0,
    ).fit(X, y)
    assert_rows_are_plain(search, X, y)
    assert (
        cloudpickle.loads(cloudpickle.dumps(search)).best_score_ == search.best_score_
    )


def test_a_class_of_the_main_script_goes_to_workers():
    """Case 117: https://github.com/scikit-learn/scikit-learn/issues/10054."""
    source = inspect.getsource(Recorder)
    names = {
        "ClassifierMixin": ClassifierMixin,
        "BaseEstimator": BaseEstimator,
        "np": np,
    }
    names["__name__"] = "__main__"
    exec(source, names)
    search = SMBOSearchCV(
        names["Recorder"](), {"a": [1, 2, 3]}, n_iter=3, n_jobs=2, cv=2
    )
    search.fit(*small_data())
    assert len(search.cv_results_["params"]) == 3
    with pytest.raises(pickle.PicklingError, match="Recorder"):
        pickle.dumps(search)


@pytest.mark.parametrize("cls", SEARCHES)
def test_what_is_no_estimator_is_refused_by_what_it_lacks(cls):
    """Case 123: https://github.com/scikit-learn/scikit-learn/issues/13493."""
    with pytest.raises(
        ValueError, match=r"'estimator' parameter .* must be an object imp"
    ):
        make_search(cls, object(), {"a": [1, 2]}).fit(*small_data())
