# SPDX-License-Identifier: BSD-3-Clause
"""Journals: round trips, torn lines, locks, refusals, resumed runs, full disks."""

import errno
import inspect
import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from accsmbo import Categorical, Integer, Real, SMBOSearchCV, Space, minimize
from accsmbo.exceptions import SearchInterruptedWarning
from accsmbo.history import Evaluation, Route, Span
from accsmbo.optimizers import SMBO, RandomSearch
from accsmbo.search import GridSearchCV, RandomizedSearchCV
from accsmbo.storage import (
    FORMAT_VERSION,
    Journal,
    JournalStorage,
    Opaque,
    _journal,
    _journal_storage,
    _reading,
    _records,
    _status,
    _values,
)
from accsmbo.storage._values import NotData, decode, encode
from tests._journals import records_in, rewrite
from tests._searches import small_data

SPACE = {"x": Real(-1.0, 2.0), "k": Integer(1, 9), "c": ["a", "b"]}


def loss(params):
    return params["x"] ** 2 + params["k"] / 10 + (params["c"] == "a")


def records_of(history):
    return [(t.number, t.params, t.seed, t.unit.tobytes(), e.value) for t, e in history]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.jsonl"


VALUES = [
    None,
    True,
    1,
    1.0,
    -0.0,
    2**70,
    math.inf,
    -math.inf,
    "é\n",
    [],
    (),
    (1, (2.0, "x"), [None]),
    {"a": [1, {"b": 2}]},
    {"$float": 1, 3: (4,)},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_round_trip_with_their_types(value):
    again = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert again == value
    assert repr(again) == repr(value)


def test_arrays_and_nan_round_trip():
    for array in (np.eye(2, dtype=np.float32), np.array([[1], [2]]), np.array(3.0)):
        again = decode(json.loads(json.dumps(encode(array))))
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)
    assert math.isnan(decode(encode(math.nan)))
    assert encode(np.int64(3)) == 3


def test_what_is_not_data_is_not_encoded_and_unknown_tags_not_decoded():
    with pytest.raises(NotData, match="is not plain data"):
        encode(StandardScaler())
    with pytest.raises(ValueError, match="tag '\\$object' is unknown"):
        decode({"$object": "os.system"})
    with pytest.raises(ValueError, match="are not plain data"):
        decode({"$array": ["|O", [1], ""]})


def test_a_journal_gives_the_history_back(path):
    history = minimize(loss, SPACE, n_trials=12, random_state=0, storage=path)
    loaded = JournalStorage(path).load()
    assert records_of(loaded) == records_of(history)
    assert loaded.space == Space(SPACE)
    for a, b in zip(loaded.evaluations, history.evaluations, strict=True):
        assert (a.start_time, a.end_time, a.spans) == (
            b.start_time,
            b.end_time,
            b.spans,
        )
        assert isinstance(a.spans[0], Span)
    kinds = {type(t.params["k"]) for t in loaded.trials}
    assert kinds == {int}


def test_gradients_errors_and_folds_round_trip(path):
    space = Space({"x": Real(0, 1)})
    optimizer = SMBO(space, random_state=0)
    evaluations = [
        Evaluation(value=1.5, gradient={"x": np.float64(2.0)}, noise=0.1),
        Evaluation(error="no\nvalue", start_time=1.0, end_time=2.5),
        Evaluation(value=2.0, folds=({"test_scores": {"a": np.float64(1)}},)),
        Evaluation(value=3.0, folds=({"test_scores": 1.0},), fold_indices=(2,)),
    ]
    with JournalStorage(path).open(space, {}, seed=0) as journal:
        for evaluation in evaluations:
            trial = optimizer.ask()
            journal.asked(trial)
            journal.told(trial, evaluation)
    assert JournalStorage(path).load().evaluations[0].gradient == {"x": 2.0}
    for a, b in zip(JournalStorage(path).load().evaluations, evaluations, strict=True):
        assert (a.value, a.noise, a.error, a.folds, a.fold_indices) == (
            b.value,
            b.noise,
            b.error,
            b.folds,
            b.fold_indices,
        )


def test_choices_that_are_objects_are_stored_by_position(path):
    choices = [StandardScaler(), MinMaxScaler(), "passthrough", (5, 5)]
    space = {"step": Categorical(choices), "x": Real(0, 1)}
    history = minimize(
        lambda p: p["x"] + (p["step"] is choices[1]),
        space,
        optimizer=RandomSearch(),
        n_trials=12,
        random_state=0,
        storage=path,
    )
    with_space = JournalStorage(path).load(space)
    for a, b in zip(with_space.trials, history.trials, strict=True):
        assert a.params["step"] is b.params["step"]
    alone = JournalStorage(path).load()
    for a, b in zip(alone.trials, history.trials, strict=True):
        place = choices.index(b.params["step"])
        if place < 2:
            assert a.params["step"] == Opaque(repr(choices[place]), place)
        else:
            assert a.params["step"] == choices[place]
    assert "stored as text" in repr(alone.space)


def test_a_distribution_known_by_text_leaves_no_space(path):
    space = {"x": stats.truncnorm(-1, 1)}
    minimize(lambda p: p["x"] ** 2, space, n_trials=3, storage=path, random_state=0)
    history = JournalStorage(path).load()
    assert history.space is None
    assert len(history) == 3


MODULES = (_journal, _journal_storage, _reading, _records, _status, _values)


def test_loading_runs_no_code(path):
    minimize(loss, SPACE, n_trials=2, random_state=0, storage=path)
    for module in MODULES:
        source = inspect.getsource(module)
        for word in ("pickle", "joblib", "eval(", "exec(", "__import__", "importlib"):
            assert word not in source
    header, asked, *others = records_in(path)
    asked["asked"]["params"]["c"] = {"$reduce": ["os.system", "true"]}
    rewrite(path, [header, asked, *others])
    with pytest.raises(ValueError, match="unknown to this version"):
        JournalStorage(path).load()


@pytest.mark.parametrize("optimizer", [SMBO(), RandomSearch()], ids=["smbo", "random"])
def test_a_resumed_run_equals_the_unbroken_one(path, optimizer):
    whole = minimize(loss, SPACE, optimizer=optimizer, n_trials=14, random_state=0)
    for n_trials in (3, 9, 14):
        history = minimize(
            loss,
            SPACE,
            optimizer=optimizer,
            n_trials=n_trials,
            random_state=0,
            storage=path,
        )
    assert records_of(history) == records_of(whole)
    assert len(JournalStorage(path).load()) == 14


def test_a_journal_cut_at_every_byte_of_its_last_record_resumes(path):
    def run(n_trials):
        return minimize(
            loss,
            SPACE,
            optimizer=RandomSearch(),
            n_trials=n_trials,
            random_state=0,
            storage=path,
        )

    whole = records_of(run(4))
    lines = path.read_bytes().splitlines(keepends=True)
    data = b"".join(line for line in lines if not line.startswith(b'{"ended"'))
    last = data.rindex(b'{"told"')
    for end in range(last, len(data)):
        path.write_bytes(data[:end])
        assert len(JournalStorage(path).load()) >= 3
        assert records_of(run(4)) == whole


@pytest.mark.parametrize("end", [0, 1, 10, 40, 100])
def test_a_torn_header_is_an_empty_journal(path, end):
    whole = minimize(loss, SPACE, n_trials=2, random_state=0, storage=path)
    path.write_bytes(path.read_bytes()[:end])
    again = minimize(loss, SPACE, n_trials=2, random_state=0, storage=path)
    assert records_of(again) == records_of(whole)


def test_other_files_are_never_touched(path):
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not the header of an accsmbo journal"):
        minimize(loss, SPACE, n_trials=2, storage=path)
    assert path.read_text() == "a,b\n1,2\n"


def test_damage_in_the_middle_is_named(path):
    minimize(loss, SPACE, n_trials=3, random_state=0, storage=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"{nonsense\n", *lines[3:]]))
    with pytest.raises(ValueError, match="line 3 cannot be read"):
        JournalStorage(path).load()


def test_a_newer_format_is_refused(path):
    minimize(loss, SPACE, n_trials=2, random_state=0, storage=path)
    header, *records = records_in(path)
    header["accsmbo_journal"] = FORMAT_VERSION + 1
    rewrite(path, [header, *records])
    with pytest.raises(ValueError, match=f"format {FORMAT_VERSION + 1}. Update"):
        JournalStorage(path).load()


def test_two_runs_on_one_journal_are_refused(path):
    space = Space(SPACE)
    with (
        JournalStorage(path).open(space, {}, seed=0),
        pytest.raises(RuntimeError, match="which is locked"),
    ):
        JournalStorage(path).open(space, {}, seed=0)
    JournalStorage(path).open(space, {}, seed=0).close()


def test_a_drawn_seed_is_kept_in_the_journal(path):
    whole = minimize(loss, SPACE, n_trials=3, storage=path)
    again = minimize(loss, SPACE, n_trials=6, storage=path)
    assert records_of(again)[:3] == records_of(whole)
    with pytest.raises(ValueError, match="seed differ"):
        minimize(loss, SPACE, n_trials=6, storage=path, random_state=0)


@pytest.mark.parametrize("n_lost", [1, 2, 3])
def test_trials_that_were_asked_and_not_told_are_run_again(path, n_lost):
    """And no others, whether the end, the last result or its trial too is lost."""
    whole = minimize(loss, SPACE, n_trials=6, random_state=0)
    minimize(loss, SPACE, n_trials=4, random_state=0, storage=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-n_lost]))
    again = minimize(loss, SPACE, n_trials=6, random_state=0, storage=path)
    assert records_of(again) == records_of(whole)
    assert path.read_text().count('{"told"') == 6


def test_a_run_of_several_workers_resumes(path):
    for n_trials in (5, 12):
        history = minimize(
            loss, SPACE, n_trials=n_trials, n_jobs=2, random_state=0, storage=path
        )
    assert sorted(t.number for t in history.trials) == list(range(12))
    points = {t.unit.tobytes() for t in history.trials}
    assert len(points) == 12


X, y = small_data(40)
SEARCH_SPACE = {"C": stats.loguniform(1e-2, 1e2), "fit_intercept": [True, False]}


def search(path, **kwargs):
    defaults = {"n_iter": 4, "cv": 2, "random_state": 0, "storage": path}
    arguments = {"param_distributions": SEARCH_SPACE} | defaults | kwargs
    estimator = arguments.pop("estimator", LogisticRegression())
    return SMBOSearchCV(estimator, **arguments)


def test_a_search_resumes_with_a_larger_budget(path):
    calls = []
    whole = search(None, n_iter=9).fit(X, y)
    search(path).fit(X, y)
    resumed = search(path, n_iter=9, callbacks=lambda h: calls.append(len(h))).fit(X, y)
    assert calls == [5, 6, 7, 8, 9]
    assert resumed.cv_results_["params"] == whole.cv_results_["params"]
    np.testing.assert_array_equal(
        resumed.cv_results_["split1_test_score"],
        whole.cv_results_["split1_test_score"],
    )
    assert resumed.best_score_ == whole.best_score_
    again = search(path, n_iter=3).fit(X, y)
    assert len(again.cv_results_["params"]) == 9


CHANGES = {
    "X": {},
    "y": {},
    "splits": {"cv": 3},
    "scoring": {"scoring": "neg_log_loss"},
    "estimator": {"estimator": LogisticRegression(tol=1e-3)},
    "space": {"param_distributions": {"C": stats.loguniform(1e-2, 1e3)}},
    "seed": {"random_state": 1},
    "error_score": {"error_score": 0},
    "return_train_score": {"return_train_score": True},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_journal_of_another_study_is_refused_by_name(path, name):
    search(path).fit(X, y)
    data = {
        "X": (X + 1e-9, y),
        "y": (X, np.r_[1 - y[:1], y[1:]]),
    }.get(name, (X, y))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"another study: [^.]*\b{name}\b.* differ"):
        search(path, **CHANGES[name]).fit(*data)
    assert path.read_bytes() == before


def test_fit_parameters_are_part_of_the_study(path):
    search(path).fit(X, y)
    with pytest.raises(ValueError, match="fit_params differ"):
        search(path).fit(X, y, sample_weight=np.ones(len(y)))


def test_folds_of_nested_validation_are_not_mixed(path):
    """See https://github.com/optuna/optuna-integration/issues/118 (case 59)."""
    search(path).fit(X[:20], y[:20])
    with pytest.raises(ValueError, match="X, y differ"):
        search(path).fit(X[20:], 1 - y[20:])


def test_searched_parameters_and_n_jobs_may_change(path):
    first = search(path, estimator=LogisticRegression(C=3.0)).fit(X, y)
    again = search(path, estimator=LogisticRegression(C=7.0), verbose=0).fit(X, y)
    assert first.cv_results_["params"] == again.cv_results_["params"]


@pytest.mark.parametrize("cls", [RandomizedSearchCV, GridSearchCV])
def test_finite_spaces_resume(path, cls):
    space = {"max_depth": [1, 2, 3], "min_samples_leaf": [1, 2, 3, 4]}
    tree = DecisionTreeClassifier(random_state=0)

    def fit(**kwargs):
        return cls(tree, space, cv=2, storage=path, random_state=0, **kwargs).fit(X, y)

    stop = fit(callbacks=lambda history: len(history) == 3)
    assert len(stop.cv_results_["params"]) == 3
    kwargs = {} if cls is GridSearchCV else {"n_iter": 8}
    done = fit(**kwargs).cv_results_["params"]
    assert done[:3] == stop.cv_results_["params"]
    assert len({tuple(p.items()) for p in done}) == len(done)
    assert len(done) == (12 if cls is GridSearchCV else 8)


class FullDisk:
    """An unbuffered file that has room for so many more bytes."""

    def __init__(self, file, room):
        self.file = file
        self.room = room

    def write(self, data):
        if len(data) > self.room:
            taken = self.file.write(bytes(data[: self.room]))
            self.room = 0
            if taken:
                return taken
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(data)
        return self.file.write(data)

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("room", [1300, 1500, 2100])
def test_a_full_disk_ends_the_search_with_all_results(path, room, monkeypatch):
    opened = Journal.__init__

    def open_full(self, *args, **kwargs):
        opened(self, *args, **kwargs)
        self._file = FullDisk(self._file, room)

    whole = search(None, n_iter=8).fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "__init__", open_full)
        with pytest.warns(
            SearchInterruptedWarning, match=r"journal .* written .*space"
        ):
            broken = search(path, n_iter=8).fit(X, y)
    n = len(broken.cv_results_["params"])
    assert n >= 1
    assert broken.cv_results_["params"] == whole.cv_results_["params"][:n]
    assert broken.predict(X).shape == y.shape
    n_stored = len(JournalStorage(path).load())
    assert n - 1 <= n_stored <= n
    resumed = search(path, n_iter=8).fit(X, y)
    assert resumed.cv_results_["params"] == whole.cv_results_["params"]


def test_storage_must_be_a_path():
    with pytest.raises(TypeError, match="storage must be a path or a JournalStorage"):
        minimize(loss, SPACE, storage=3)


def test_a_journal_keeps_how_its_trials_were_found(tmp_path):
    path = tmp_path / "study.jsonl"
    space = Space({"x": Real(0, 1)})
    first, last = Route("joint", "fits"), Route("estimator", "not confirmed")
    for route in (first, last, last):
        with JournalStorage(path).open(space, {"f": "1"}, seed=0) as journal:
            journal.routed(route)
            journal.ended("budget")
    assert JournalStorage(path).load().route == last
    assert JournalStorage(path).status().reason == "budget"
    assert sum('"route"' in line for line in path.read_text().splitlines()) == 2
