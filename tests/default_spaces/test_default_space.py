# SPDX-License-Identifier: BSD-3-Clause
"""default_space: settings, nesting, other packages, no import, errors that help."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn import (
    compose,
    decomposition,
    discriminant_analysis,
    dummy,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    model_selection,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction import text
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

from accsmbo.default_spaces import default_space
from accsmbo.optimizers import RandomSearch
from accsmbo.space import Integer

# LogisticRegression names the penalty by l1_ratio from scikit-learn 1.8 on.
HAS_PENALTY = linear_model.LogisticRegression().penalty == "l2"

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8))
CLASSES = np.arange(60) % 3


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (linear_model.LogisticRegression(), {"C"}),
        (
            linear_model.LogisticRegression(solver="liblinear"),
            {"C", "penalty" if HAS_PENALTY else "l1_ratio"},
        ),
        (linear_model.LogisticRegression(solver="liblinear", dual=True), {"C"}),
        (
            linear_model.LogisticRegression(solver="saga", penalty="elasticnet"),
            {"C", "l1_ratio"},
        ),
        (linear_model.SGDClassifier(), {"alpha"}),
        (linear_model.SGDRegressor(penalty=None), {"eta0"}),
        (linear_model.SGDClassifier(penalty=None, learning_rate="pa1"), {"eta0"}),
        (svm.SVC(), {"C", "gamma"}),
        (svm.SVC(kernel="linear"), {"C"}),
        (svm.NuSVC(nu=0.01), {"gamma"}),
        (ensemble.ExtraTreesClassifier(), {"max_features", "min_samples_leaf"}),
        (neighbors.KNeighborsClassifier(metric="cosine"), {"n_neighbors", "weights"}),
        (
            discriminant_analysis.LinearDiscriminantAnalysis(),
            {"shrinkage", "solver"},
        ),
        (
            discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr"),
            {"shrinkage"},
        ),
        (text.TfidfVectorizer(vocabulary=["a", "b"]), {"sublinear_tf", "use_idf"}),
        (impute.KNNImputer(), {"n_neighbors", "weights"}),
        (preprocessing.SplineTransformer(knots=np.eye(4)), {"degree"}),
    ],
    ids=lambda v: None if isinstance(v, set) else type(v).__name__,
)
def test_the_space_fits_the_settings(estimator, names):
    assert set(default_space(estimator)) == names


@pytest.mark.parametrize(
    "estimator",
    [
        decomposition.PCA(2, svd_solver="randomized"),
        decomposition.TruncatedSVD(),
        dummy.DummyClassifier(),
        gaussian_process.GaussianProcessRegressor(alpha=np.ones(3)),
        impute.SimpleImputer(strategy="most_frequent"),
        linear_model.LogisticRegression(C=np.inf),
        linear_model.LogisticRegressionCV(),
        linear_model.Perceptron(),
        preprocessing.StandardScaler(),
        FrozenEstimator(svm.SVC()),
        model_selection.GridSearchCV(svm.SVC(), {"C": [1, 2]}),
        make_pipeline(preprocessing.StandardScaler(), "passthrough"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_nothing_to_tune_names_the_way_out(estimator):
    match = (
        r"param_distributions is required.*no default search space for "
        rf"{type(estimator).__name__}.*Pass param_distributions.*register_default_space"
    )
    with pytest.raises(ValueError, match=match):
        default_space(estimator)


@pytest.mark.parametrize("value", [None, svm.SVC, {"C": [1]}])
def test_only_estimators_have_a_space(value):
    with pytest.raises(TypeError, match=r"estimator must be an estimator.*instance"):
        default_space(value)


def test_nested_estimators_fit_with_prefixed_names():
    numeric = make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler())
    columns = compose.ColumnTransformer(
        [("numeric", numeric, [0, 1, 2]), ("rest", "drop", [3])],
        remainder=preprocessing.PolynomialFeatures(),
    )
    union = FeatureUnion(
        [("pca", decomposition.PCA()), ("none", "passthrough"), ("gone", "drop")]
    )
    vote = ensemble.VotingClassifier(
        [
            ("svc", multiclass.OneVsRestClassifier(svm.SVC())),
            ("nb", naive_bayes.GaussianNB()),
            ("gone", "drop"),
        ]
    )
    pipeline = Pipeline(
        [("columns", columns), ("union", union), ("none", None), ("vote", vote)]
    )
    assert set(default_space(pipeline)) == {
        "columns__numeric__simpleimputer__strategy",
        "columns__remainder__degree",
        "columns__remainder__interaction_only",
        "union__pca__n_components",
        "vote__nb__var_smoothing",
        "vote__svc__estimator__C",
        "vote__svc__estimator__gamma",
    }
    space = default_space(pipeline)
    optimizer = RandomSearch(space, random_state=0)
    for _ in range(3):
        clone(pipeline).set_params(**optimizer.ask().params).fit(X, CLASSES)


def test_meta_estimators_add_their_own_parameters():
    target = compose.TransformedTargetRegressor(
        svm.SVR(kernel="linear"), transformer=preprocessing.QuantileTransformer()
    )
    assert set(default_space(target)) == {
        "regressor__C",
        "regressor__epsilon",
        "transformer__output_distribution",
    }
    boosting = ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier())
    assert set(default_space(boosting)) == {
        "estimator__max_depth",
        "estimator__min_samples_leaf",
        "learning_rate",
    }
    selector = feature_selection.RFECV(linear_model.Ridge())
    assert set(default_space(selector)) == {"estimator__alpha"}


def test_prefit_estimators_are_left_alone():
    selector = feature_selection.SelectFromModel(svm.LinearSVC(), prefit=True)
    assert set(default_space(selector)) == {"threshold"}
    stacking = ensemble.StackingClassifier(
        [("svc", svm.SVC())], final_estimator=linear_model.Ridge(), cv="prefit"
    )
    assert set(default_space(stacking)) == {"final_estimator__alpha"}


def test_the_width_of_the_data_bounds_counts():
    assert default_space(decomposition.TruncatedSVD(50)) == {
        "n_components": Integer(1, 50, log=True)
    }
    with pytest.raises(ValueError, match="no default search space for SelectKBest"):
        default_space(feature_selection.SelectKBest(k="all"))


def test_hidden_layers_keep_their_number():
    space = default_space(neural_network.MLPClassifier((10, 10)))
    assert space["hidden_layer_sizes"].choices[0] == (16, 16)
    space = default_space(neural_network.MLPClassifier(10))
    assert space["hidden_layer_sizes"].choices[0] == (16,)


def test_every_call_gives_a_new_dict():
    default_space(linear_model.Lasso()).clear()
    assert default_space(linear_model.Lasso())


BOOSTERS = [
    ("xgboost.sklearn", "XGBClassifier", "max_depth"),
    ("lightgbm.sklearn", "LGBMRegressor", "num_leaves"),
    ("catboost.core", "CatBoostRegressor", "depth"),
]


@pytest.mark.parametrize(("module", "name", "parameter"), BOOSTERS)
def test_other_packages_are_known_by_name(module, name, parameter):
    cls = type(name, (BaseEstimator,), {"__module__": module})
    assert {"learning_rate", parameter} <= set(default_space(cls()))


def test_linear_boosters_have_no_trees():
    class XGBRegressor(BaseEstimator):
        __module__ = "xgboost.sklearn"

        def __init__(self, booster="gblinear"):
            self.booster = booster

    assert set(default_space(XGBRegressor())) == {
        "learning_rate",
        "reg_alpha",
        "reg_lambda",
    }


# The package without its __init__, which imports the searches and so scikit-learn's.
NO_IMPORT = """
import importlib.util
import sys
import types

package = types.ModuleType("accsmbo")
package.__path__ = importlib.util.find_spec("accsmbo").submodule_search_locations
sys.modules["accsmbo"] = package
from accsmbo.default_spaces import default_space

class SVC:
    __module__ = "sklearn.svm._classes"
    def get_params(self, deep=True):
        return {"kernel": "rbf"}

assert set(default_space(SVC())) == {"C", "gamma"}
modules = "ensemble linear_model neighbors neural_network pipeline svm tree".split()
loaded = [m for m in modules if f"sklearn.{m}" in sys.modules]
assert not loaded, loaded
"""


def test_no_estimator_is_imported():
    subprocess.run([sys.executable, "-c", NO_IMPORT], check=True)
