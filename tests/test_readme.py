# SPDX-License-Identifier: BSD-3-Clause
"""The README's example runs as it stands, and the commands it names exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text()


def test_the_example_runs_and_finds_good_parameters(readme, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names: dict = {}
    exec(code, names)
    search = names["search"]
    assert len(search.cv_results_["params"]) == search.n_iter == 20
    assert search.best_score_ > 0.97
    assert str(search.best_score_) in capsys.readouterr().out


def test_the_commands_are_targets_of_the_makefile(readme):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = set(re.findall(r"make ([a-z][a-z-]*)", readme))
    assert {"run", "test"} <= named <= set(targets)
