# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn's own tests of its searches, run on ours.

The tests come from the installed scikit-learn. What its own class passes, ours must
pass; the outcome of its own class in the same run is the reference.
"""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SEARCH_TESTS = "sklearn.model_selection.tests.test_search"
METAESTIMATOR_TESTS = (
    "sklearn.tests.test_metaestimators",
    "sklearn.tests.test_metaestimators_metadata_routing",
)
# passed, skipped (array API) with scikit-learn's own class: a guard against a plugin
# that selects nothing. Without the tests that reach the name only through a function
# they call it would be 61 and 117 passed.
KNOWN = {
    ("1.9.1", "RandomizedSearchCV"): (65, 30),
    ("1.9.1", "GridSearchCV"): (121, 30),
    ("1.6.1", "RandomizedSearchCV"): (45, 16),
    ("1.6.1", "GridSearchCV"): (98, 16),
}


def run_swapped(name, cls, folder, *modules, keyword=None):
    """Run scikit-learn's test modules with `name` swapped for `cls`."""
    outcomes = folder / f"{name}-{cls.replace(':', '.')}-{len(modules)}.json"
    (folder / "empty.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "sklearn_search_swap"]
    command += ["-c", str(folder / "empty.ini"), "-p", "no:cacheprovider", "-rf"]
    command += ["-p", "no:xdist", "--tb=short", "--swap-name", name]
    command += ["--swap-class", cls, "--swap-outcomes", str(outcomes)]
    command += ["-k", keyword] if keyword else []
    environment = {k: v for k, v in os.environ.items() if "PYTEST" not in k}
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT)]),
        "PYTHONWARNINGS": "ignore",
        "OMP_NUM_THREADS": "1",
    }
    result = subprocess.run(
        [*command, "--pyargs", *modules],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=600,
        check=False,
    )
    if not outcomes.exists():
        pytest.fail(f"pytest did not finish:\n{result.stdout}\n{result.stderr}")
    return json.loads(outcomes.read_text()), result.stdout


def counts_of(outcomes):
    counts = collections.Counter(outcomes.values())
    return counts["passed"], counts["skipped"]


def assert_as_good_as_own(name, classes, folder, *modules, keyword=None):
    """Every outcome with a class of ours is that with scikit-learn's own class."""
    own = f"sklearn.model_selection:{name}"
    expected, output = run_swapped(name, own, folder, *modules, keyword=keyword)
    assert "failed" not in expected.values(), output
    for cls in classes:
        outcomes, output = run_swapped(name, cls, folder, *modules, keyword=keyword)
        worse = {
            test: outcomes.get(test, "not run")
            for test, outcome in expected.items()
            if outcomes.get(test) != outcome
        }
        assert not worse, f"{cls}: {len(worse)} of {len(expected)}: {worse}\n{output}"
    return expected


NAMES = pytest.mark.parametrize("name", ["RandomizedSearchCV", "GridSearchCV"])


@NAMES
def test_search_tests_of_sklearn(name, tmp_path):
    classes = ["accsmbo:AccSMBOSearchCV", f"accsmbo.search:{name}"]
    expected = assert_as_good_as_own(name, classes, tmp_path, SEARCH_TESTS)
    counts = counts_of(expected)
    assert counts[0] >= min(passed for passed, _ in KNOWN.values())
    assert counts == KNOWN.get((sklearn.__version__, name), counts)


@NAMES
def test_delegation_and_routing_tests_of_sklearn(name, tmp_path):
    classes = ["accsmbo:AccSMBOSearchCV"]
    keyword = "SearchCV and not Halving or delegation"
    expected = assert_as_good_as_own(
        name, classes, tmp_path, *METAESTIMATOR_TESTS, keyword=keyword
    )
    assert counts_of(expected)[0] >= 10
