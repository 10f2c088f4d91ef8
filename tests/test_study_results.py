# SPDX-License-Identifier: BSD-3-Clause
"""Result files of the benchmarks name the code, the seeds and the command."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import accsmbo

STUDIES = Path(__file__).resolve().parents[1] / "benchmarks" / "studies"

pytestmark = pytest.mark.skipif(
    not STUDIES.exists(), reason="the studies are not part of an installed package"
)


@pytest.fixture
def results(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    from _common import results

    yield results
    for name in [n for n in sys.modules if n.partition(".")[0] == "_common"]:
        del sys.modules[name]


@pytest.fixture
def package(tmp_path):
    """Return a committed package in a checkout of its own."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    me = ["-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q"], ["add", "."], [*me, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return folder


def test_the_environment_names_seeds_versions_and_commit(results):
    found = results.environment(["optuna_tpe", "random"], range(3))
    assert found["seeds"] == [0, 1, 2]
    assert found["versions"]["accsmbo"] == accsmbo.__version__
    assert "optuna" in found["versions"]
    assert set(found) >= {"commit", "modified", "command", "machine", "date"}


def test_the_commit_is_that_of_the_package_and_changes_are_noticed(results, package):
    known = results.commit(package)
    head = subprocess.check_output(
        ["git", "-C", str(package), "rev-parse", "HEAD"], text=True
    )
    assert known == {"commit": head.strip(), "modified": False}
    written = package.parent / "benchmarks" / "results" / "new.json"
    written.parent.mkdir(parents=True)
    written.touch()
    assert results.commit(package)["modified"] is False
    (package / "__init__.py").write_text("x = 1\n")
    assert results.commit(package)["modified"] is True


def test_an_installed_package_has_no_commit(results, package):
    (package.parent / "installed").mkdir()
    (package.parent / "installed" / "__init__.py").touch()
    known = results.commit(package.parent / "installed")
    assert known == {"commit": "not a git checkout", "modified": None}


@pytest.mark.parametrize("path", sorted(STUDIES.rglob("*.py")), ids=lambda p: p.name)
def test_what_a_study_imports_of_the_common_part_exists(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("_common."):
            source = STUDIES / (node.module.replace(".", "/") + ".py")
            defined = names_of(ast.parse(source.read_text()))
            assert {alias.name for alias in node.names} <= defined


def names_of(module):
    """Return what a module defines at its top level."""
    names = set()
    for node in module.body:
        names |= {getattr(node, "name", None)}
        names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names
