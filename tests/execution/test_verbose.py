# SPDX-License-Identifier: BSD-3-Clause
"""What worker processes print arrives."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
from sklearn.linear_model import Ridge
from accsmbo.search import GridSearchCV
from tests._searches import small_data

if __name__ == "__main__":
    X, y = small_data()
    GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2, n_jobs=2, verbose=3).fit(X, y)
"""


def test_folds_print_their_lines_from_worker_processes():
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONUNBUFFERED", None)
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    first = result.stdout.splitlines()[0]
    assert first == "Fitting 2 folds for each of 2 candidates, totalling 4 fits"
    assert result.stdout.count("] END ") == 4
    assert "Error" not in result.stderr
