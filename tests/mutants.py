# SPDX-License-Identifier: BSD-3-Clause
"""The mutation check: each fault of ``mutants.toml`` must fail the tests it names.

``python tests/mutants.py [WORD ...]`` puts one fault after another into a copy of the
package and runs its tests; words choose faults by file or reason. A fault has

file     relative to the package
old      text that occurs there exactly once, so that the list stays true
new      what replaces it
tests    tests that must fail then, and pass without it
reason   what goes wrong
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
SECONDS = 180.0  # of one run: a fault may never end
PASSED, FAILED = 0, 1  # of pytest; others mean that the tests did not run


def main(words):
    """Return the exit status: 0 where every fault is caught."""
    faults = tomllib.loads(LIST.read_text())["fault"]
    stale = [f for f in faults if source(ROOT, f).read_text().count(f["old"]) != 1]
    for fault in stale:
        print(f"STALE     {fault['file']}: {fault['old']!r} must occur exactly once.")
    if stale:
        return 1
    faults = [f for f in faults if chosen(f, words)]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        ignored = shutil.ignore_patterns("__pycache__")
        for name in ("accsmbo", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        tests = sorted({test for fault in faults for test in fault["tests"]})
        status, output = run(copy, tests, SECONDS * len(faults))
        if status != PASSED:
            print(f"{output}\nThe tests must pass on the unchanged package.")
            return 1
        verdicts = [verdict(copy, fault) for fault in faults]
    n_caught = verdicts.count("caught")
    print(f"{n_caught} of {len(faults)} faults caught")
    return int(n_caught < len(faults))


def chosen(fault, words):
    """Tell whether a fault is asked for."""
    text = f"{fault['file']} {fault['reason']}"
    return not words or any(word in text for word in words)


def source(folder, fault):
    """Return the file that a fault is put into."""
    return folder / "accsmbo" / fault["file"]


def verdict(copy, fault):
    """Return what the tests say of one fault, and print it."""
    path = source(copy, fault)
    text = path.read_text()
    write(path, text.replace(fault["old"], fault["new"]))
    status, output = run(copy, fault["tests"], SECONDS)
    write(path, text)
    known = {PASSED: "SURVIVED", FAILED: "caught", None: "caught"}
    result = known.get(status, "BROKEN")
    end = " (it does not end)" if status is None else ""
    print(f"{result:9} {fault['file']}: {fault['reason']}{end}", flush=True)
    lines = output.splitlines()
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    for line in lines if result == "BROKEN" else failures:
        print(f"          {line}")
    return result


def write(path, text):
    """Write a module; bytecode of the same second and size would be taken for new."""
    path.write_text(text)
    Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)


def run(folder, tests, seconds):
    """Return the exit status of pytest, None beyond the time limit, and its output."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, ""
    return process.returncode, output


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
