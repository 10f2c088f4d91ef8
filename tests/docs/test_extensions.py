# SPDX-License-Identifier: BSD-3-Clause
"""What is made at build time: change log, benchmarks, picture of the layers."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

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


def test_the_picture_has_every_layer_of_the_contract_from_top_to_bottom():
    root = DOCS.parent
    picture = ElementTree.fromstring(load("layer_picture").layers_picture(root))
    svg = "{http://www.w3.org/2000/svg}"
    drawn = [
        (float(text.get("y")), text.text)
        for text in picture.iter(f"{svg}text")
        if text.get("class") == "name"
    ]
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    (contract,) = settings["importlinter"]["contracts"]
    expected = [
        name
        for layer in contract["layers"]
        for name in re.findall(r"\w+", layer)
        if list((root / "accsmbo").glob(f"{name}/__init__.py"))
        or (root / "accsmbo" / f"{name}.py").exists()
    ]
    assert [name for _, name in drawn] == expected
    heights = dict(map(reversed, drawn))
    assert heights["search"] < heights["execution"] < heights["surrogates"]
    assert heights["surrogates"] == heights["storage"]


def test_what_the_picture_draws_is_the_contract(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.importlinter]\nroot_package = "p"\n[[tool.importlinter.contracts]]\n'
        'layers = ["(top)", "(left) | (right)", "(absent)"]\n'
    )
    for name in ("top/__init__.py", "left/__init__.py", "right.py"):
        (tmp_path / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "p" / name).write_text('"""Is less < than."""\n')
    picture = load("layer_picture").layers_picture(tmp_path)
    assert re.findall('class="name".*>(.*)<', picture) == ["top", "left", "right"]
    assert picture.count(">Is less &lt; than<") == 3


PAGES = [DOCS.parent / "CONTRIBUTING.md", *DOCS.glob("contributing/*.rst")]


@pytest.mark.skipif(
    not (DOCS.parent / "benchmarks").exists(), reason="only a checkout has all folders"
)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_named_for_contributors_exist(page):
    named = re.findall(
        r"[`(]((?:accsmbo|tests|docs|benchmarks)/[\w/.-]+)[`)]", page.read_text()
    )
    assert named or page.stem in ("glossary", "index")
    assert [path for path in named if not (DOCS.parent / path).exists()] == []
