# SPDX-License-Identifier: BSD-3-Clause
"""Racing in the searches: form of the results, resuming, workers, failures."""

import inspect
import os
import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import GroupKFold, KFold
from sklearn.svm import SVC

from accsmbo import AccSMBOSearchCV, SMBOSearchCV
from accsmbo.fidelity import Racing
from accsmbo.search import GridSearchCV, HOAGSearchCV, RandomizedSearchCV
from tests._searches import SEARCHES, Recorder, make_search, small_data

SPACE = {"C": loguniform(1e-2, 1e2), "gamma": loguniform(1e-3, 1e1)}
GRID = {"C": [0.01, 0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0, 10.0]}
X, Y = small_data(60, 4, seed=3)


def fit(cls=SMBOSearchCV, space=None, X=X, y=Y, **kwargs):
    kwargs = {"n_iter": 12, "cv": 5, "selection": Racing()} | kwargs
    estimator = kwargs.pop("estimator", SVC())
    params = kwargs.pop("fit_params", {})
    space = space or (GRID if cls is GridSearchCV else SPACE)
    return make_search(cls, estimator, space, **kwargs).fit(X, y, **params)


def told(search):
    return [
        (t.number, t.params, e.fold_indices, e.value, e.noise)
        for t, e in search.history_
    ]


def splits_of(results, kind="test_score"):
    names = [name for name in results if name.endswith(kind) and name[:5] == "split"]
    return np.column_stack([results[name] for name in names])


def check(search):
    """Check what holds after every race, and return the folds run."""
    results = search.cv_results_
    run = results["n_folds_run"]
    scores = splits_of(results)
    n_folds = search.n_splits_
    assert np.array_equal(np.isfinite(scores).sum(axis=1), run)
    assert run.max() == n_folds
    assert run.min() >= 1
    for row, mean, std in zip(
        scores, results["mean_test_score"], results["std_test_score"], strict=True
    ):
        kept = row[np.isfinite(row)]
        assert mean == pytest.approx(kept.mean(), abs=1e-14)
        assert std == pytest.approx(kept.std(), abs=1e-14)
    full = run == n_folds
    ranks = results["rank_test_score"]
    best = results["mean_test_score"][full].max()
    assert full[search.best_index_]
    assert search.best_score_ == best == -search.history_.best_value
    assert ranks[search.best_index_] == 1
    assert full[ranks == 1].all()
    order = np.argsort(-results["mean_test_score"][full], kind="stable")
    assert np.all(np.diff(ranks[full][order]) >= 0)
    return run


@pytest.mark.parametrize("cls", SEARCHES)
def test_every_search_races(cls):
    search = fit(cls)
    run = check(search)
    assert run.sum() < 0.8 * 5 * len(run)
    scorer = get_scorer("accuracy")
    again = cross_validated(search.best_params_)
    assert search.best_score_ == pytest.approx(again)
    assert scorer(search.best_estimator_, X, Y) > 0.5


def cross_validated(params):
    search = GridSearchCV(SVC(), {k: [v] for k, v in params.items()}, cv=5)
    return search.fit(X, Y).best_score_


def test_without_racing_nothing_is_added():
    results = fit(selection=None).cv_results_
    assert "n_folds_run" not in results
    assert np.isfinite(splits_of(results)).all()


def test_scores_of_folds_that_were_run_are_those_without_racing():
    raced = fit(RandomizedSearchCV, n_iter=20).cv_results_
    whole = fit(RandomizedSearchCV, n_iter=20, selection=None).cv_results_
    assert raced["params"] == whole["params"]
    run = np.isfinite(splits_of(raced))
    assert 20 <= run.sum() < 100
    assert np.array_equal(splits_of(raced)[run], splits_of(whole)[run])


def test_the_paired_test_drops_fewer():
    n_fits = [
        check(fit(RandomizedSearchCV, selection=racing, n_iter=20)).sum()
        for racing in (Racing("aggressive"), Racing(), Racing(level=0.01))
    ]
    assert n_fits[0] < n_fits[1] < n_fits[2] < 100


@pytest.mark.parametrize("n_challengers", [1, 4])
@pytest.mark.parametrize("n_first", [1, 6])
def test_a_resumed_race_equals_an_unbroken_one(tmp_path, n_challengers, n_first):
    def search(**kwargs):
        return fit(selection=Racing(n_challengers=n_challengers), n_iter=11, **kwargs)

    path = tmp_path / "study.jsonl"
    search(storage=path, callbacks=lambda history: len(history) >= n_first)
    resumed = search(storage=path)
    assert told(resumed) == told(search())


def test_a_race_is_interrupted_between_folds_and_resumed(tmp_path, monkeypatch):
    class Stops(SVC):
        """Counts down outside of itself: else it would be another estimator."""

        def fit(self, X, y):
            left = int(os.environ["FITS_LEFT"])
            if left == 0:
                raise KeyboardInterrupt
            os.environ["FITS_LEFT"] = str(left - 1)
            return super().fit(X, y)

    monkeypatch.setenv("FITS_LEFT", "-1")
    path = tmp_path / "study.jsonl"
    unbroken = fit(estimator=Stops())
    n_fits = int(unbroken.cv_results_["n_folds_run"].sum())
    monkeypatch.setenv("FITS_LEFT", str(n_fits - 3))
    with pytest.warns(UserWarning, match="interrupted"):
        fit(estimator=Stops(), storage=path)
    monkeypatch.setenv("FITS_LEFT", "-1")
    resumed = fit(estimator=Stops(), storage=path)
    assert told(resumed) == told(unbroken)


def test_a_journal_of_a_race_is_not_resumed_without_it(tmp_path):
    path = tmp_path / "study.jsonl"
    fit(storage=path, n_iter=3)
    for other in (None, Racing("aggressive")):
        with pytest.raises(ValueError, match="selection differ"):
            fit(storage=path, n_iter=3, selection=other)


def test_an_epoch_serves_candidates_of_one_model():
    inner = fit(selection=Racing(n_challengers=4), n_iter=16).optimizer_
    assert type(inner).__name__ == "Epochs"
    assert inner.n_asked == len(inner.history) == 16


def test_an_epoch_keeps_a_fitted_density():
    search = fit(
        AccSMBOSearchCV,
        {"C": loguniform(1e-6, 1e5)},
        estimator=LogisticRegression(),
        scoring="neg_log_loss",
        selection=Racing(n_challengers=4),
        n_iter=8,
    )
    assert search.density_ is not None
    assert search.optimizer_.optimizer_.density is search.density_


def test_two_workers_and_determinism():
    runs = [fit(n_jobs=2, deterministic=True, n_iter=8) for _ in range(2)]
    assert told(runs[0]) == told(runs[1])
    for search in (*runs, fit(n_jobs=2, n_iter=8)):
        check(search)


def test_multimetric_and_train_scores():
    search = fit(
        scoring=["roc_auc", "accuracy"],
        refit="accuracy",
        return_train_score=True,
        n_iter=8,
    )
    results = search.cv_results_
    run = results["n_folds_run"]
    assert run.sum() < 40
    for kind in ("test_accuracy", "test_roc_auc", "train_accuracy"):
        assert np.array_equal(np.isfinite(splits_of(results, kind)).sum(axis=1), run)
        assert np.isfinite(results[f"mean_{kind}"]).all()
    assert search.best_score_ == results["mean_test_accuracy"][run == 5].max()
    assert (run == 5)[results["rank_test_roc_auc"] == 1].all()


def test_times_are_those_of_the_folds_that_were_run():
    search = fit(n_iter=8)
    times = [
        [fold["fit_time"] for fold in e.folds]
        for _, e in sorted(search.history_, key=lambda record: record[0].number)
    ]
    results = search.cv_results_
    assert results["mean_fit_time"] == pytest.approx([np.mean(t) for t in times])
    assert results["std_fit_time"] == pytest.approx([np.std(t) for t in times])


def test_predictions_are_kept_of_candidates_with_all_folds():
    search = fit(keep_predictions=True)
    full = np.flatnonzero(search.cv_results_["n_folds_run"] == 5)
    assert search.predictions_.numbers == full.tolist()
    assert 0 < len(full) < 12


def test_groups_reach_the_splitter():
    groups = np.arange(60) // 6
    search = fit(cv=GroupKFold(5), fit_params={"groups": groups})
    check(search)


class FailsOn(Recorder):
    """Score `a`; cannot be fitted where `a` is `fatal` and row 0 is left out."""

    def __init__(self, a=None, fatal=None):
        super().__init__(a)
        self.fatal = fatal

    def fit(self, X, y=None):
        if self.a == self.fatal and not (X == X0).all(axis=1).any():
            raise ValueError("no row 0")
        return super().fit(X, y)

    def score(self, X, y=None):
        return self.a


X0 = X[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("fatal", [1, 4])
def test_a_fold_that_fails_is_a_candidate_that_fails(fatal):
    search = fit(GridSearchCV, {"a": [1, 2, 3, 4]}, estimator=FailsOn(fatal=fatal))
    results = search.cv_results_
    failed = fatal - 1
    assert np.isnan(results["mean_test_score"][failed])
    assert results["rank_test_score"][failed] == 4
    assert search.best_params_ == {"a": 3 if fatal == 4 else 4}
    kept = fit(
        GridSearchCV,
        {"a": [1, 2, 3, 4]},
        estimator=FailsOn(fatal=fatal),
        error_score=-100.0,
    )
    assert np.isfinite(kept.cv_results_["mean_test_score"]).all()
    with pytest.raises(ValueError, match="no row 0"):
        fit(
            GridSearchCV,
            {"a": [1, 2, 3, 4]},
            estimator=FailsOn(fatal=fatal),
            error_score="raise",
        )


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("fold", range(3))
def test_a_score_of_nan_on_one_fold_never_wins(fold):
    """The scorer gives NaN for the best parameter on one fold.

    See https://github.com/scikit-learn/scikit-learn/issues/20678 (case 29).
    """
    splits = list(KFold(3).split(X))

    def score(estimator, X_test, y_test):
        here = np.array_equal(X_test, X[splits[fold][1]])
        return np.nan if here and estimator.a == 4 else float(estimator.a)

    search = fit(
        GridSearchCV,
        {"a": [4, 1, 4, 2, 3]},
        estimator=Recorder(),
        cv=splits,
        scoring=score,
    )
    assert search.best_params_ == {"a": 3}
    ranks = search.cv_results_["rank_test_score"]
    assert ranks[search.cv_results_["param_a"] == 4].tolist() == [4, 4]


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_every_candidate_nan():
    """See https://github.com/scikit-learn/scikit-learn/issues/20678 (case 29)."""
    search = fit(
        GridSearchCV,
        {"a": [1, 2, 3]},
        estimator=Recorder(),
        scoring=lambda estimator, X, y: np.nan,
    )
    assert search.best_index_ == 0
    assert np.isnan(search.best_score_)


@pytest.mark.parametrize("seed", range(5))
def test_rare_classes_in_every_fold(seed):
    """See https://github.com/scikit-learn/scikit-learn/issues/20775 (case 53)."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.r_[np.zeros(45), np.ones(5)])
    X = rng.normal(size=(50, 2)) + y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(fit(X=X, y=y, scoring="balanced_accuracy", n_iter=6))


class Exits(Recorder):
    """Ends its process for one value."""

    def fit(self, X, y=None):
        if self.a == 2:
            os._exit(1)
        return super().fit(X, y)

    def score(self, X, y=None):
        return self.a


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_costs_its_candidate():
    search = fit(
        GridSearchCV, {"a": [1, 2, 3]}, estimator=Exits(), n_jobs=2, max_retries=0
    )
    assert search.best_params_ == {"a": 3}
    assert np.isnan(search.cv_results_["mean_test_score"][1])


def test_gradients_of_candidates_with_all_folds_are_used():
    search = fit(
        AccSMBOSearchCV,
        {"C": loguniform(1e-4, 1e4)},
        estimator=LogisticRegression(),
        scoring="neg_log_loss",
        density=None,
        solver="gradients",
    )
    assert check_exact(search)
    known = [e.gradient is not None for _, e in search.history_]
    assert known == [not e.partial for _, e in search.history_]


def check_exact(search):
    model = LogisticRegression(**search.best_params_)
    whole = GridSearchCV(model, {}, cv=5, scoring="neg_log_loss").fit(X, Y)
    return search.best_score_ == pytest.approx(whole.best_score_, abs=1e-6)


def test_a_callable_refit_must_choose_a_candidate_with_all_folds():
    def last_dropped(results):
        return int(np.flatnonzero(results["n_folds_run"] < 5)[-1])

    with pytest.raises(ValueError, match="refit must return the index of a candidate"):
        fit(refit=last_dropped)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"selection": Racing("best")}, r"rule of Racing must be .*got 'best'"),
        ({"selection": Racing(level=0.0)}, r"level of Racing .* got 0.0"),
        ({"selection": Racing(level="low")}, r"level of Racing .* got 'low'"),
        ({"selection": Racing(n_challengers=0)}, "n_challengers must be"),
        ({"cv": [(np.arange(40), np.arange(40, 60))]}, "at least two folds, got cv w"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        fit(**kwargs)


def test_hoag_is_not_raced():
    with pytest.raises(ValueError, match="got HOAG"):
        fit(
            HOAGSearchCV,
            {"C": loguniform(1e-2, 1e2)},
            estimator=LogisticRegression(),
            scoring="neg_log_loss",
        )


def test_racing_is_a_plain_set_of_arguments():
    racing = Racing("aggressive", level=0.1, n_challengers=4)
    assert clone(racing).get_params() == racing.get_params()
    assert pickle.loads(pickle.dumps(racing)).get_params() == racing.get_params()
    assert repr(racing) == ("Racing(level=0.1, n_challengers=4, rule='aggressive')")
    search = SMBOSearchCV(SVC(), selection=racing)
    assert clone(search).selection.get_params() == racing.get_params()
    assert "selection" in inspect.signature(SMBOSearchCV).parameters


def test_verbose_says_that_the_fits_are_a_limit(capsys):
    fit(n_iter=3, verbose=1)
    assert "Fitting up to 5 folds for each of 3 candidates, at most 15 fits" in (
        capsys.readouterr().out
    )


def test_a_custom_greater_is_worse_metric_is_raced():
    search = fit(scoring=make_scorer(_error, greater_is_better=False))
    check(search)


def _error(y_true, y_pred):
    return float(np.mean(y_true != y_pred))
