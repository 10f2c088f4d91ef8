# SPDX-License-Identifier: BSD-3-Clause
"""Readers of records: own histories, auto-sklearn archives, coordinates by name."""

import io
import tarfile
import time

import numpy as np
import pytest

from accsmbo import Integer, Real, minimize
from accsmbo.history import Evaluation, History, Trial
from accsmbo.metalearning import EmpiricalDensity, SourceTask
from accsmbo.metalearning._coordinates import coordinates
from accsmbo.metalearning._shipped import metric_group
from accsmbo.space import Space

SPACE = {"x": Real(-1.0, 2.0)}
RUNS = """@RELATION runs
@ATTRIBUTE instance_id STRING
@DATA
anneal,1,1,0.02,ok
iris,1,2,0.03,ok
car,1,3,0.01,ok
wine,1,3,?,not_applicable
"""
CONFIGURATIONS = (
    "idx,classifier:__choice__,classifier:random_forest:max_features,"
    "classifier:random_forest:bootstrap,classifier:mlp:alpha\n"
    "1,random_forest,0.4,True,\n2,mlp,,,0.001\n3,random_forest,0.6,False,\n"
)
FOLDER = "accuracy_binary.classification_dense"
FOREST = {"max_features": Real(0.1, 1.0), "bootstrap": [True, False]}


def search(shift, seed=0):
    return minimize(
        lambda p: (p["x"] - shift) ** 2, SPACE, n_trials=12, random_state=seed
    )


def test_histories_in_every_form(tmp_path):
    class Search:
        history_ = search(0.5)

    path = tmp_path / "run.jsonl"
    minimize(
        lambda p: (p["x"] - 0.5) ** 2, SPACE, n_trials=12, random_state=1, storage=path
    )
    density = EmpiricalDensity().from_histories([Search(), search(0.5, 2), path])
    assert density.n_tasks_ == 3
    assert density.source_ == "3 own searches"
    assert density.mode()[0] == pytest.approx(0.5, abs=0.1)
    left = EmpiricalDensity.from_histories([Search(), path], exclude=["run"])
    assert left.n_tasks_ == 1


def test_old_histories_count_less():
    def at(x, end):
        history = History(Space(SPACE))
        for i, value in enumerate((x, -0.9, 1.9)):
            trial = Trial(i, {"x": value}, np.array([0.5]))
            history.append(trial, Evaluation((value - x) ** 2, end_time=end))
        return history

    now = time.time()
    pair = [at(0.0, now), at(1.5, now - 730 * 86400)]
    density = EmpiricalDensity.from_histories(pair)
    fresh, old = (density.pdf_params({"x": x}) for x in (0.0, 1.5))
    assert fresh > 1.5 * old
    even = EmpiricalDensity.from_histories(pair, half_life=None)
    assert even.pdf_params({"x": 0.0}) < 1.2 * even.pdf_params({"x": 1.5})


def test_wrong_histories():
    with pytest.raises(
        TypeError, match=r"histories\[0\] must be the path of a journal"
    ):
        EmpiricalDensity.from_histories([3])
    with pytest.raises(ValueError, match="histories must hold at least one history"):
        EmpiricalDensity.from_histories([])


@pytest.fixture(params=["folder", "archive"])
def archive(request, tmp_path):
    files = {"algorithm_runs.arff": RUNS, "configurations.csv": CONFIGURATIONS}
    if request.param == "folder":
        (tmp_path / FOLDER).mkdir()
        for name, text in files.items():
            (tmp_path / FOLDER / name).write_text(text)
        return tmp_path
    path = tmp_path / "archive.tar.xz"
    with tarfile.open(path, "w:xz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"files/{FOLDER}/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_autosklearn(archive):
    density = EmpiricalDensity.from_autosklearn(archive, "random_forest", FOREST)
    assert density.n_tasks_ == 2
    assert sorted(t.name for t in density._tasks) == ["anneal", "car"]
    assert density._tasks[0].params == [{"max_features": 0.4, "bootstrap": True}]
    assert "auto-sklearn archive, random_forest" in density.source_


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "svc"},
            r"method must have won .* got 'svc'.*'mlp', 'random_forest'",
        ),
        ({"metric": "f1"}, "must name a folder of the archive, got 'f1_binary"),
        ({"task": "two"}, "task must be one of .*'regression'"),
    ],
)
def test_wrong_archives(archive, arguments, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalDensity.from_autosklearn(
            archive, **{"method": "mlp", "space": FOREST} | arguments
        )


def test_missing_archive(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must be a folder or tar archive"):
        EmpiricalDensity.from_autosklearn(tmp_path / "no", "mlp", FOREST)


def test_coordinates_by_name():
    subspace = Space(
        {
            "svc__C": Real(0.1, 10.0, log=True),
            "svc__kernel": ["rbf"],
            "svc__degree": Integer(1, 5),
        }
    ).subspaces[0]
    assert subspace.names == ("svc__C", "svc__degree")
    u = coordinates({"C": 1.0, "kernel": "rbf"}, subspace)
    assert u[0] == pytest.approx(0.5)
    assert np.isnan(u[1])
    assert coordinates({"C": 1e9, "degree": 2}, subspace)[0] == 1.0
    assert coordinates({"C": 1.0, "kernel": "poly"}, subspace) is None
    assert coordinates({"alpha": 1.0}, subspace) is None
    assert np.isnan(coordinates({"C": "auto", "degree": 2}, subspace)[0])


def test_small_tasks_give_their_best_only():
    from accsmbo.metalearning._source_task import good_points

    params = [{"x": float(i)} for i in range(10)]
    small = SourceTask("small", params, list(range(10)))
    assert good_points(small, 3) == [{"x": 9.0}]
    large = SourceTask("large", params, list(range(10)), n_evaluations=50)
    assert good_points(large, 3) == [{"x": 9.0}, {"x": 8.0}, {"x": 7.0}]


def test_metric_groups():
    assert metric_group("neg_log_loss") == "probability"
    assert metric_group("my_score") is None
