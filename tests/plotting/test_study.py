# SPDX-License-Identifier: BSD-3-Clause
"""A history, a fitted search and a journal mean the same study, and its space."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from accsmbo import SMBOSearchCV, minimize
from accsmbo.history import Evaluation, History
from accsmbo.plotting import (
    ConvergenceDisplay,
    ParallelCoordinatesDisplay,
    ParameterImportanceDisplay,
    SurrogateDisplay,
    WorkerTimelineDisplay,
)
from accsmbo.plotting._observed_space import space_of
from accsmbo.plotting._study import as_study, is_complete
from accsmbo.plotting._surface import fit_surface
from accsmbo.space import Categorical, Real
from accsmbo.storage import JournalStorage
from tests._journals import records_in, rewrite
from tests.plotting._studies import HARD_SPACE, LONG, hard_history, run_random


@pytest.fixture(scope="module")
def search_and_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "study.jsonl"
    X, y = load_iris(return_X_y=True)
    search = SMBOSearchCV(
        LogisticRegression(max_iter=500),
        {"C": Real(1e-3, 10.0, log=True)},
        n_iter=4,
        cv=2,
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
        random_state=0,
        storage=path,
    )
    return search.fit(X, y), path


def test_a_search_its_history_and_its_journal_are_the_same_study(search_and_path):
    search, path = search_and_path
    for given in (search, search.history_, path, str(path), JournalStorage(path)):
        study = as_study(given)
        assert (study.value_name, study.is_score) == ("neg_log_loss", True)
        np.testing.assert_array_equal(study.history.values, search.history_.values)
        curve = ConvergenceDisplay.from_history(given).lines_[0].get_ydata()
        assert curve[-1] == search.best_score_
        assert len(WorkerTimelineDisplay.from_history(given).bars_) == 8


def test_a_journal_names_the_metric_of_its_search(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = {"accuracy": "accuracy", None: "score", "neg_log_loss": "neg_log_loss"}
    for scoring, name in names.items():
        path = tmp_path / f"{name}.jsonl"
        search = SMBOSearchCV(
            LogisticRegression(max_iter=500),
            {"C": Real(1e-3, 10.0, log=True)},
            n_iter=2,
            cv=2,
            scoring=scoring,
            storage=path,
        ).fit(X, y)
        for given in (search, path):
            study = as_study(given)
            assert (study.value_name, study.is_score) == (name, True)
    header, *records = records_in(path)
    rewrite(path, [header | {"metric": [1]}, *records])
    assert as_study(path).value_name == "score"


@pytest.mark.parametrize(
    "display",
    [
        ConvergenceDisplay,
        ParallelCoordinatesDisplay,
        ParameterImportanceDisplay,
        SurrogateDisplay,
        WorkerTimelineDisplay,
    ],
)
@pytest.mark.parametrize("kind", ["search", "history", "path", "text", "journal"])
def test_every_display_takes_them_all(display, kind, search_and_path):
    """And has scikit-learn's convention: plot returns the display with its axes."""
    import matplotlib.pyplot as plt
    from matplotlib.text import Text

    search, path = search_and_path
    given = {
        "search": search,
        "history": search.history_,
        "path": path,
        "text": str(path),
        "journal": JournalStorage(path),
    }[kind]
    shown = display.from_history(given)
    first = shown.figure_
    assert shown.plot() is shown
    assert shown.figure_ is not first
    axes = list(np.ravel(shown.ax_))
    assert axes[0].figure is shown.figure_
    figure, ax = plt.subplots()
    assert display.from_history(given, ax=ax).figure_ is figure
    labels = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "C" in labels or display in (ConvergenceDisplay, WorkerTimelineDisplay)


def test_losses_of_a_function_are_losses(tmp_path):
    path = tmp_path / "study.jsonl"
    history = minimize(
        lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=3, storage=path
    )
    for given in (history, path):
        assert as_study(given).value_name == "loss"
        assert not as_study(given).is_score


def test_other_things_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"got 3 \(of type int\)"):
        as_study(3)
    with pytest.raises(FileNotFoundError):
        as_study(tmp_path / "absent.jsonl")
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"a": 1}\n')
    with pytest.raises(ValueError, match="not the header of an accsmbo journal"):
        as_study(foreign)


def test_the_space_is_inferred_where_a_journal_has_only_its_text(tmp_path):
    path = tmp_path / "study.jsonl"
    space = {"a": norm(0, 2), "b": ["u", "v", "w"], "c": [7], "d": Real(1, 2)}
    history = minimize(
        lambda p: p["a"] ** 2 + p["d"],
        space,
        n_trials=20,
        random_state=0,
        storage=path,
    )
    loaded = JournalStorage(path).load()
    assert loaded.space is None
    (inferred,) = space_of(loaded).subspaces
    (known,) = history.space.subspaces
    assert inferred.names == known.names == ("a", "b", "d")
    np.testing.assert_array_equal(inferred.categorical, known.categorical)
    np.testing.assert_array_equal(inferred.levels, known.levels)
    for trial in loaded.trials:
        again = inferred.to_params(trial.unit)
        assert again == pytest.approx(trial.params)
    given = JournalStorage(path).load(space)
    np.testing.assert_allclose(
        fit_surface(as_study(loaded)).predict(np.full((1, 3), 0.5)),
        fit_surface(as_study(given)).predict(np.full((1, 3), 0.5)),
        rtol=1e-6,
    )


def test_a_space_that_trials_do_not_tell_is_an_error():
    with pytest.raises(ValueError, match="must have a space or trials"):
        space_of(History())
    history = run_random({"a": norm(), "b": Real(1, 2), "c": [3]}, lambda p: 0.0, 1)
    history.space = None
    with pytest.raises(ValueError, match="do not tell which 2 of"):
        space_of(history)


def test_unseen_choices_keep_their_places():
    history = run_random({"a": list("uvwxyz"), "b": norm()}, lambda p: 0.0, 4)
    expected = history.space
    history.space = None
    dimension = space_of(history).subspaces[0].dimensions["a"]
    assert isinstance(dimension, Categorical)
    for trial in history.trials:
        assert dimension.to_unit(trial.params["a"]) == pytest.approx(trial.unit[0])
    assert dimension.n_levels == expected.subspaces[0].dimensions["a"].n_levels


def test_partial_trials_do_not_count_as_results():
    history = run_random({"x": Real(0, 1)}, lambda p: 1 + p["x"], 6)
    cheap = replace(history.trials[0], number=6, fidelity=0.1)
    history.append(cheap, Evaluation(value=-5.0))
    given_up = replace(history.trials[1], number=7)
    history.append(given_up, Evaluation(value=-6.0, fold_indices=(0,)))
    curve = ConvergenceDisplay.from_history(history).curves[""][0]
    assert len(curve) == 8
    assert curve[-1] == curve[5] >= 1.0
    lines = ParallelCoordinatesDisplay.from_history(history, n_best=2).lines_
    thick = [i for i, line in enumerate(lines) if line.get_linewidth() > 2]
    assert thick == sorted(np.argsort(history.values[:6])[:2])


def test_trials_of_one_resource_are_modelled():
    history = run_random({"x": Real(0, 1)}, lambda p: p["x"], 9)
    rungs = History(history.space)
    for i, (trial, evaluation) in enumerate(history):
        fidelity = 100.0 if i < 5 else 300.0 if i < 8 else 900.0
        rungs.append(replace(trial, fidelity=fidelity), evaluation)
    # One trial with 900 is too few for a model, three with 300 are enough.
    surface = fit_surface(as_study(rungs))
    assert surface.resource == 300.0
    np.testing.assert_array_equal(surface.values, history.values[5:8])
    np.testing.assert_array_equal(is_complete(rungs), np.arange(9) == 8)
    assert fit_surface(as_study(history)).resource is None


def test_one_diverged_loss_does_not_hide_the_others():
    space = {"x": Real(0, 1)}
    plain = run_random(space, lambda p: (p["x"] - 0.3) ** 2, 20)
    wild = run_random(space, lambda p: 1e9 if p["x"] > 0.9 else (p["x"] - 0.3) ** 2, 20)
    assert np.max(wild.values) == 1e9
    U = np.linspace(0.05, 0.8, 30)[:, None]
    expected = fit_surface(as_study(plain)).predict(U)[0]
    np.testing.assert_allclose(
        fit_surface(as_study(wild)).predict(U)[0], expected, atol=0.08
    )


def test_a_subspace_without_data_is_an_error():
    history = hard_history(1)
    with pytest.raises(ValueError, match="at least two successful trials"):
        fit_surface(as_study(history))
    with pytest.raises(ValueError, match="less than 2, got 5"):
        fit_surface(as_study(history), 5)
    assert LONG in HARD_SPACE[0]
