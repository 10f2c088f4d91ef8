# SPDX-License-Identifier: BSD-3-Clause
"""Importing accsmbo is cheap and has no side effects."""

import subprocess
import sys

import accsmbo

OPTIONAL = ("openml", "matplotlib", "liblinear", "distributed")
HEAVY = ("openml", "pandas", "matplotlib", "liblinear", "distributed", "tqdm")


def test_heavy_packages_are_imported_only_where_they_are_used():
    # scikit-learn imports pandas where it is installed: that is not ours to avoid.
    code = (
        "import sys, sklearn.model_selection, scipy.stats; before = set(sys.modules); "
        "import accsmbo; added = set(sys.modules) - before; "
        f"print([name for name in {HEAVY} if name in added])"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"


def test_every_module_is_importable_without_optional_packages():
    code = (
        "import importlib, pkgutil, sys; "
        f"sys.modules.update(dict.fromkeys({OPTIONAL})); "
        "import accsmbo; "
        "names = [m.name for m in pkgutil.walk_packages(accsmbo.__path__, 'accsmbo.')];"
        "[importlib.import_module(n) for n in names if not n.endswith('__main__')]; "
        "print(len(names))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert int(output) > 100


def test_importing_draws_no_random_numbers_and_warns_of_nothing():
    code = (
        "import numpy as np; before = np.random.get_state()[1].copy(); import accsmbo; "
        "assert (np.random.get_state()[1] == before).all()"
    )
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True
    )


def test_the_version_is_that_of_the_package():
    assert accsmbo.__version__.count(".") == 2
    assert "__version__" in accsmbo.__all__
