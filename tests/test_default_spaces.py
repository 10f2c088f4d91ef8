# SPDX-License-Identifier: BSD-3-Clause
"""Default spaces: every candidate fits, no estimator is imported, errors help."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn import (
    calibration,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    dummy,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import text
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils import all_estimators

from accsmbo.default_spaces import default_space, register_default_space
from accsmbo.default_spaces._registry import _REGISTRY
from accsmbo.optimizers import RandomSearch
from accsmbo.space import Integer, Real, Space

N_POINTS = 20
# LogisticRegression names the penalty by l1_ratio from scikit-learn 1.8 on.
HAS_PENALTY = linear_model.LogisticRegression().penalty == "l2"

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 8))
SCORE = X @ rng.normal(size=8) + rng.normal(size=60)
REAL = (SCORE - SCORE.mean()) / SCORE.std()
BINARY = (REAL > 0).astype(int)
CLASSES = np.digitize(REAL, [-0.5, 0.5])
COUNTS = rng.poisson(2.0, size=(60, 8))
HOLES = np.where(rng.random(X.shape) < 0.1, np.nan, X)
WORDS = np.array(["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"])
DOCUMENTS = [" ".join(rng.choice(WORDS, 6)) for _ in range(60)]
POSITIVE = np.exp(REAL)
TWO_TARGETS = np.column_stack([REAL, -REAL])

CLASSIFIERS = [
    calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), cv=2),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr"),
    discriminant_analysis.QuadraticDiscriminantAnalysis(),
    ensemble.AdaBoostClassifier(n_estimators=3),
    ensemble.BaggingClassifier(n_estimators=3),
    ensemble.ExtraTreesClassifier(5),
    ensemble.ExtraTreesClassifier(5, bootstrap=True),
    ensemble.GradientBoostingClassifier(n_estimators=5),
    ensemble.HistGradientBoostingClassifier(max_iter=2),
    ensemble.RandomForestClassifier(5),
    linear_model.LogisticRegression(),
    linear_model.LogisticRegression(solver="newton-cholesky"),
    linear_model.Perceptron(penalty="l2"),
    linear_model.RidgeClassifier(),
    linear_model.SGDClassifier(),
    linear_model.SGDClassifier(
        penalty="elasticnet", learning_rate="adaptive", eta0=0.1
    ),
    naive_bayes.GaussianNB(),
    neighbors.KNeighborsClassifier(),
    neighbors.KNeighborsClassifier(metric="cosine"),
    neural_network.MLPClassifier((100, 100), max_iter=3),
    svm.LinearSVC(),
    svm.NuSVC(),
    svm.SVC(),
    svm.SVC(kernel="linear"),
    svm.SVC(kernel="poly"),
    svm.SVC(kernel="sigmoid"),
    svm.SVC(kernel=lambda A, B: A @ B.T),
    tree.DecisionTreeClassifier(),
    tree.ExtraTreeClassifier(),
]
BINARY_CLASSIFIERS = [
    linear_model.LogisticRegression(solver="liblinear"),
    linear_model.LogisticRegression(solver="liblinear", dual=True),
    linear_model.LogisticRegression(solver="saga"),
]
COUNT_CLASSIFIERS = [
    naive_bayes.BernoulliNB(),
    naive_bayes.CategoricalNB(),
    naive_bayes.ComplementNB(),
    naive_bayes.MultinomialNB(),
]
REGRESSORS = [
    cross_decomposition.PLSRegression(6),
    ensemble.AdaBoostRegressor(n_estimators=3),
    ensemble.BaggingRegressor(tree.DecisionTreeRegressor(), n_estimators=3),
    ensemble.ExtraTreesRegressor(5),
    ensemble.GradientBoostingRegressor(n_estimators=5),
    ensemble.HistGradientBoostingRegressor(max_iter=2),
    ensemble.RandomForestRegressor(5),
    gaussian_process.GaussianProcessRegressor(),
    kernel_ridge.KernelRidge(),
    kernel_ridge.KernelRidge(kernel="rbf"),
    kernel_ridge.KernelRidge(kernel="polynomial"),
    linear_model.ARDRegression(),
    linear_model.BayesianRidge(),
    linear_model.ElasticNet(),
    linear_model.HuberRegressor(),
    linear_model.Lasso(),
    linear_model.LassoLars(),
    linear_model.QuantileRegressor(),
    linear_model.Ridge(),
    linear_model.SGDRegressor(),
    linear_model.TweedieRegressor(),
    neighbors.KNeighborsRegressor(),
    neural_network.MLPRegressor(max_iter=3),
    neural_network.MLPRegressor(solver="lbfgs", max_iter=3),
    neural_network.MLPRegressor(solver="sgd", max_iter=3),
    svm.LinearSVR(),
    svm.NuSVR(),
    svm.SVR(),
    tree.DecisionTreeRegressor(),
    tree.ExtraTreeRegressor(),
]
POSITIVE_REGRESSORS = [
    linear_model.GammaRegressor(),
    linear_model.PoissonRegressor(),
]
MULTITASK_REGRESSORS = [
    linear_model.MultiTaskElasticNet(),
    linear_model.MultiTaskLasso(),
    multioutput.MultiOutputRegressor(linear_model.Ridge()),
]
TRANSFORMERS = [
    decomposition.KernelPCA(kernel="rbf"),
    decomposition.PCA(),
    decomposition.PCA(5, svd_solver="arpack"),
    decomposition.TruncatedSVD(6),
    feature_selection.RFE(linear_model.RidgeClassifier(), step=2),
    feature_selection.SelectFromModel(linear_model.RidgeClassifier()),
    feature_selection.SelectKBest(k=8),
    feature_selection.SelectPercentile(),
    kernel_approximation.Nystroem(n_components=20),
    kernel_approximation.RBFSampler(),
    preprocessing.KBinsDiscretizer(strategy="uniform"),
    preprocessing.PolynomialFeatures(),
    preprocessing.QuantileTransformer(n_quantiles=30),
    preprocessing.SplineTransformer(),
    preprocessing.SplineTransformer(extrapolation="periodic", knots="quantile"),
]
IMPUTERS = [
    impute.KNNImputer(),
    impute.SimpleImputer(),
]
TEXT_TRANSFORMERS = [
    text.CountVectorizer(),
    text.HashingVectorizer(n_features=32),
    text.TfidfVectorizer(),
    text.TfidfVectorizer(analyzer="char_wb"),
]

# (estimator, X, y)
CASES = [
    *[(e, X, CLASSES) for e in CLASSIFIERS],
    *[(e, X, BINARY) for e in BINARY_CLASSIFIERS],
    *[(e, COUNTS, CLASSES) for e in COUNT_CLASSIFIERS],
    *[(e, X, REAL) for e in REGRESSORS],
    *[(e, X, POSITIVE) for e in POSITIVE_REGRESSORS],
    *[(e, X, TWO_TARGETS) for e in MULTITASK_REGRESSORS],
    *[(e, X, CLASSES) for e in TRANSFORMERS],
    *[(e, HOLES, CLASSES) for e in IMPUTERS],
    *[(e, DOCUMENTS, CLASSES) for e in TEXT_TRANSFORMERS],
    (text.TfidfTransformer(), COUNTS, CLASSES),
]

CASE_IDS = [type(estimator).__name__ for estimator, _, _ in CASES]

# Iterative solvers with a fixed budget: a hard corner ends before convergence.
SLOW_TO_CONVERGE = (
    linear_model.LogisticRegression,
    linear_model.Perceptron,
    linear_model.SGDClassifier,
    linear_model.SGDRegressor,
    neural_network.MLPClassifier,
    neural_network.MLPRegressor,
    svm.LinearSVC,
    svm.LinearSVR,
)


def fit_points(estimator, X, y):
    """Fit at random points of the default space; return how many there were."""
    optimizer = RandomSearch(default_space(estimator), random_state=0)
    size = Space(optimizer.space).size
    n_points = int(min(N_POINTS, size))
    for _ in range(n_points):
        trial = optimizer.ask()
        model = clone(estimator).set_params(**trial.params)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, y)
        use = model.predict if hasattr(model, "predict") else model.transform
        assert use(X).shape[0] == len(y)
        optimizer.tell(trial, 0.0)
    return n_points


@pytest.mark.parametrize(("estimator", "X", "y"), CASES, ids=CASE_IDS)
def test_every_candidate_fits_without_a_warning(estimator, X, y):
    assert set(default_space(estimator)) <= set(estimator.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if isinstance(estimator, SLOW_TO_CONVERGE):
            warnings.simplefilter("ignore", ConvergenceWarning)
        assert fit_points(estimator, X, y) > 1


def test_every_registered_class_exists_and_is_tested():
    registered = {name for package, name in _REGISTRY if package == "sklearn"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shipped = {name for name, _ in all_estimators()}
    assert registered <= shipped
    tested = {type(estimator).__name__ for estimator, _, _ in CASES}
    assert registered - tested == {"LogisticRegressionCV"}


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


class Mine(BaseEstimator):
    def __init__(self, rate=0.1, layers=2):
        self.rate = rate
        self.layers = layers


class Narrow(Mine):
    def __init__(self, rate=0.1):
        self.rate = rate


class ScaledRidge(linear_model.Ridge):
    pass


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(
        "accsmbo.default_spaces._registry._REGISTRY", registry := dict(_REGISTRY)
    )
    return registry


@pytest.mark.usefixtures("registry")
def test_third_parties_register_a_space():
    qualified_name = f"{Mine.__module__}.Mine"
    space = {"rate": Real(0.1, 1.0), "layers": [1, 2, 3]}
    register_default_space(qualified_name, space)
    assert default_space(Mine()) == space
    assert default_space(Narrow()) == {"rate": space["rate"]}
    register_default_space(
        qualified_name, lambda params: {"layers": [1, params["layers"]]}
    )
    assert default_space(make_pipeline(Mine(layers=7))) == {"mine__layers": [1, 7]}
    register_default_space(qualified_name, lambda params: [params])
    with pytest.raises(TypeError, match=r"default space of .*Mine must be a dict"):
        default_space(Mine())


def test_subclasses_have_the_space_of_their_base():
    assert default_space(ScaledRidge()) == default_space(linear_model.Ridge())


@pytest.mark.parametrize(
    ("qualified_name", "space", "error", "match"),
    [
        (Mine, {}, TypeError, r"qualified_name must be a string .*__module__"),
        ("Mine", {}, ValueError, r"qualified_name must be .*got 'Mine'. Put"),
        ("pack..Mine", {}, ValueError, r"qualified_name must be .*got 'pack..Mine'"),
        ("pack.Mine", [1], TypeError, r"default space of pack.Mine must be a dict"),
        ("pack.Mine", {"rate": 0.1}, TypeError, r"'rate' needs to be"),
    ],
)
def test_registration_checks_its_arguments(qualified_name, space, error, match):
    with pytest.raises(error, match=match):
        register_default_space(qualified_name, space)


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
