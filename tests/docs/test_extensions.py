# SPDX-License-Identifier: BSD-3-Clause
"""The pages that are made at build time: change log and benchmarks."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables():
    return load("benchmark_tables")


def test_the_change_log_becomes_restructuredtext():
    text = load("change_log").change_log_page(
        "# Change log\n\n## 0.1.0 (unreleased)\n\n- `A` and ``B``; [c](http://d.e)\n"
    )
    assert "==========\nWhat's new\n==========\n" in text
    assert "0.1.0 (unreleased)\n==================\n" in text
    assert "- ``A`` and ``B``; `c <http://d.e>`__\n" in text


def test_every_result_file_has_a_section(tables):
    folder = DOCS.parent / "benchmarks"
    page = tables.benchmarks_page(folder)
    for path in folder.glob("results/*.json"):
        assert f"``results/{path.name}``" in page


def test_records_of_the_same_keys_are_one_table_and_runs_are_counted(tables, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "speed.py").write_text('"""How fast?\n\nVery."""\n')
    result = {
        "environment": {
            "python": "3",
            "versions": {"numpy": "2"},
            "command": "python x",
        },
        "a_b": {"median": 0.123456, "worst": None},
        "c": {"median": 2, "worst": [1, 2]},
        "summary": {"mean": 1},
        "runs": {"one": {"deep": {}}, "two": {"deep": {}}},
    }
    (tmp_path / "results" / "speed_2.json").write_text(json.dumps(result))
    lines = tables.benchmarks_page(tmp_path).splitlines()
    start = lines.index("How fast? (2)")
    text = "\n".join(lines[start:])
    assert (
        "made by ``studies/speed.py``. Python 3, numpy 2. Command: ``python x``."
        in text
    )
    assert text.count(".. list-table::") == 2
    assert (
        "   * - a\\_b\n     - 0.1235\n     -\n   * - c\n     - 2\n     - 1, 2" in text
    )
    assert "2 single runs are in the file." in text


def test_runs_without_a_summary_are_shown_the_latest_of_equal_ones(tables):
    named = {"a": {"loss": 0.5, "curve": [1, 2], "date": "today"}, "b": {"loss": 0.25}}
    text = "\n".join(tables.blocks({"runs": named}))
    assert "   * - a\n     - 0.5\n   * - b\n     - 0.25" in text
    assert "today" not in text
    runs = [
        {"rows": [{"method": "x", "n": n}, {"method": "y", "n": 1}]} for n in (3, 2)
    ]
    text = "\n".join(tables.blocks({"runs": runs}))
    assert text.count("   * - x\n") == 1
    assert "   * - x\n     - 2\n   * - y\n     - 1" in text
