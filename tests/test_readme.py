# SPDX-License-Identifier: BSD-3-Clause
"""The README's examples run as they stand, and the commands it names exist."""

import re
import sys
import types
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
# The five minutes, in seconds.
SMALLER = {
    "n_iter=25": "n_iter=4",
    "n_jobs=2": "n_jobs=1",
    "Classifier(random_state=0)": "Classifier(8, random_state=0)",
    "verbose=1": "verbose=0",
}


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def blocks(readme):
    return re.findall(r"```python\n(.*?)```", readme, re.DOTALL)


def test_the_example_runs_and_finds_good_parameters(blocks, capsys):
    names: dict = {}
    exec(blocks[0], names)
    search = names["search"]
    assert len(search.cv_results_["params"]) == search.n_iter == 20
    assert search.best_score_ > 0.97
    assert str(search.best_score_) in capsys.readouterr().out


def test_five_minutes_with_a_table(blocks, tmp_path, monkeypatch):
    tune, plot, ensemble = blocks[1:]
    for text, smaller in SMALLER.items():
        assert text in tune
        tune = tune.replace(text, smaller)
    monkeypatch.chdir(tmp_path)
    write_table()
    script = types.ModuleType("tune")
    exec(tune, vars(script) | {"__name__": "__main__"})
    exec(tune, vars(script))
    monkeypatch.setitem(sys.modules, "tune", script)
    mpl.use("agg")
    exec(plot, {})
    assert Path("convergence.png").stat().st_size > 5000
    names = {"__name__": "__main__"}
    exec(ensemble, names)
    loaded = names["joblib"].load("ensemble.joblib")
    assert loaded.predict_proba(script.X).shape == (len(script.X), 2)
    # The ensemble's search took every candidate from the journal.
    lines = Path("forest.jsonl").read_text().splitlines()
    assert sum('"told"' in line for line in lines) == 4


def write_table(n=150):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 1, n),
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
        }
    )
    table.loc[::17, "income"] = np.nan
    noise = rng.normal(0, 9, n)
    table["target"] = np.where(
        table["age"] + 20 * (table["city"] == "Rome") + noise > 55, "yes", "no"
    )
    table.to_csv("table.csv", index=False)


def test_the_commands_are_targets_of_the_makefile(readme):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = set(re.findall(r"make ([a-z][a-z-]*)", readme))
    assert {"run", "test", "docs"} <= named <= set(targets)
