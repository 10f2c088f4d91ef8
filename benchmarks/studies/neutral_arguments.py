# SPDX-License-Identifier: BSD-3-Clause
"""Whether any combination of neutral arguments changes a search: all of them, once.

Five searches, ten problems, 96 combinations of ``verbose``, ``n_jobs``, ``storage``,
``keep_predictions``, ``callbacks`` and an unreached ``timeout``, with
``deterministic=True``; candidates, scores, best parameters and route are compared with
those of the search without any of them. The problems are those of
``tests/search/test_neutral_arguments.py``.

    OMP_NUM_THREADS=1 python neutral_arguments.py \
        --out ../results/neutral_arguments.json
"""

import argparse
import contextlib
import io
import itertools
import sys
import tempfile
import warnings
from pathlib import Path

from _common.results import Results, environment

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.search.test_neutral_arguments import (
    CHANGES,
    PROBLEMS,
    answer,
    assert_same,
    cases,
)


def differences(kind: type, name: str) -> list[str]:
    """Return the combinations under which a search of a problem answers otherwise."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        expected = answer(kind, PROBLEMS[name], Path(folder))
    for choice in itertools.product(*(range(len(v)) for v in CHANGES.values())):
        with tempfile.TemporaryDirectory() as folder:
            try:
                assert_same(kind, PROBLEMS[name], Path(folder), choice, expected)
            except AssertionError as error:
                found.append(f"{choice}: {error}")
    return found


def main() -> None:
    """Run what is missing in the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="neutral_arguments.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(options.out)
    results.environments["all"] = environment([], [0])
    for kind, name in cases():
        key = f"{kind.__name__}|{name}"
        if key in results.runs:
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            results.runs[key] = differences(kind, name)
        results.save()
        print(key, len(results.runs[key]), flush=True)
    results.extra = {
        "searches_and_problems": len(results.runs),
        "combinations": 96,
        "differences": sum(map(len, results.runs.values())),
    }
    results.save()
    print(results.extra)


if __name__ == "__main__":
    main()
