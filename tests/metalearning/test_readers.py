# SPDX-License-Identifier: BSD-3-Clause
"""Readers of records: own histories, auto-sklearn archives, coordinates by name."""

import io
import os
import tarfile
import time

import numpy as np
import pytest

from accsmbo import Integer, Real, minimize
from accsmbo.history import Evaluation, History, Trial
from accsmbo.metalearning import (
    EmpiricalDensity,
    SourceTask,
    _autosklearn,
    _openml,
)
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


def pack(path, files, folder=FOLDER):
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(f"files/{folder}/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def damaged(kind, tmp_path):
    """Return an archive that cannot be read, and what its error must say."""
    whole = {
        "algorithm_runs.arff": RUNS.encode(),
        "configurations.csv": CONFIGURATIONS.encode(),
    }
    path = tmp_path / "archive.tar.gz"
    content = {
        "no runs": whole | {"algorithm_runs.arff": b"@RELATION runs\n"},
        "short rows": whole | {"algorithm_runs.arff": b"@DATA\n1,ok\n"},
        "no columns": whole | {"configurations.csv": b"a,b\n1,2\n"},
        "not text": whole | {"configurations.csv": b"\xff\xfe\x00"},
        "long field": whole | {"configurations.csv": b"idx\n" + b"a" * 200_000},
        "no file": {"algorithm_runs.arff": RUNS.encode()},
        "bomb": whole | {"configurations.csv": bytes(2**26 + 1)},
        "bombs": {str(i): bytes(2**20) for i in range(3)} | whole,
    }
    if kind in content:
        pack(path, content[kind])
    elif kind == "no archive":
        path.write_bytes(b"no archive")
    else:
        pack(path, whole)
        path.write_bytes(path.read_bytes()[:-60])
    message = {
        "bomb": "unpacks to more",
        "bombs": "unpacks to more",
        "no archive": "no whole tar archive",
        "cut": "no whole tar archive",
    }
    return path, message.get(kind, f"whose file {FOLDER}/.* cannot be read")


PARTS = ("no runs", "short rows", "no columns", "not text", "long field", "no file")


@pytest.mark.parametrize("kind", [*PARTS, "bomb", "bombs", "no archive", "cut"])
def test_damaged_archives_give_one_error_with_path_and_remedy(
    tmp_path, kind, monkeypatch
):
    if kind == "bombs":
        monkeypatch.setattr(_autosklearn, "MAX_ARCHIVE", 2**21)
    path, message = damaged(kind, tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        EmpiricalDensity.from_autosklearn(path, "random_forest", FOREST)
    assert str(path) in str(caught.value)
    assert "Download it again." in str(caught.value) or "own." in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="files of other kinds")
def test_archives_and_journals_that_are_no_files_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(ValueError, match=f"must be a regular file, got '{path}'"):
            EmpiricalDensity.from_autosklearn(path, "random_forest", FOREST)
        with pytest.raises(ValueError, match=f"must be a regular file, got '{path}'"):
            EmpiricalDensity.from_histories([path])
    (tmp_path / FOLDER).mkdir()
    os.mkfifo(tmp_path / FOLDER / "configurations.csv")
    with pytest.raises(ValueError, match=r"configurations.csv', which is a pipe"):
        EmpiricalDensity.from_autosklearn(tmp_path, "random_forest", FOREST)


def test_answers_of_other_kinds_name_task_and_remedy():
    frame = {
        "parameters": [{"C": "[" * 100_000, "gamma": '"auto"'}],
        "value": ["0.5"],
    }
    task = _openml._task(7, frame, 1, "accuracy")
    assert task.params == [{"C": "[" * 100_000, "gamma": "auto"}]
    for change in ({"parameters": [3]}, {"value": ["high"]}, {"value": [[]]}):
        with pytest.raises(ValueError, match=r"flow 1 on task 7 .* Leave the task"):
            _openml._task(7, frame | change, 1, "accuracy")


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
