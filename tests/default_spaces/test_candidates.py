# SPDX-License-Identifier: BSD-3-Clause
"""Candidates of every default space fit without an error or a warning."""

import warnings

import numpy as np
import pytest
from sklearn import (
    calibration,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import text
from sklearn.utils import all_estimators

from accsmbo.default_spaces import default_space
from accsmbo.default_spaces._registry import _REGISTRY
from accsmbo.optimizers import RandomSearch
from accsmbo.space import Space

N_POINTS = 20
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
