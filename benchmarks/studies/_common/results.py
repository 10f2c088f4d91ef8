# SPDX-License-Identifier: BSD-3-Clause
"""Run optimizers on functions and keep what they found, with versions and machine."""

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import accsmbo
from _common.peer_optimizers import PACKAGES, PEERS, Function, Run

RESULTS = "benchmarks/results"


def record(
    peer: Run, space: dict[str, tuple], f: Function, budget: int, seed: int
) -> dict[str, Any]:
    """Return the values that one optimizer saw, and its own time per evaluation."""
    values: list[float] = []
    spent = 0.0

    def timed(params: dict[str, Any]) -> float:
        nonlocal spent
        start = time.perf_counter()
        value = float(f(params))
        spent += time.perf_counter() - start
        values.append(value)
        return value

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer(space, timed, budget, seed)
    own = (time.perf_counter() - start - spent) / budget
    return {"values": [float(f"{v:.10g}") for v in values], "own_s": round(own, 5)}


def environment(peers: Iterable[str], seeds: Iterable[int]) -> dict[str, Any]:
    """Return where a result comes from: seeds, code, versions and machine."""
    packages = ["numpy", "scipy", "scikit-learn"]
    packages += sorted({PACKAGES[p] for p in peers if p in PACKAGES} - {"accsmbo"})
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "python": platform.python_version(),
        "versions": versions | {"accsmbo": accsmbo.__version__},
        **commit(Path(accsmbo.__file__).parent),
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cpus": os.cpu_count(),
            "threads": os.environ.get("OMP_NUM_THREADS", "not limited"),
        },
        "command": " ".join(["python", *(Path(a).name for a in sys.argv)]),
        "seeds": list(seeds),
        "date": time.strftime("%Y-%m-%d"),
    }


def commit(package: Path) -> dict[str, Any]:
    """Return the git commit of a package, and whether its checkout was modified.

    Result files do not count: those that a rerun replaces would always be modified.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        changes = git("status", "--porcelain", "--", ":/", f":(top,exclude){RESULTS}")
        return {"commit": git("rev-parse", "HEAD"), "modified": bool(changes)}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": "not a git checkout", "modified": None}


class Results:
    """Runs by the key `task|optimizer|seed` in one JSON file, saved after each."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        stored = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.runs: dict[str, Any] = stored.get("runs", {})
        self.environments: dict[str, Any] = stored.get("environments", {})
        self.extra: dict[str, Any] = stored.get("summary", {})

    def save(self) -> None:
        """Write the file, one line a run so that diffs stay readable."""
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in self.runs.items()]
        text = (
            '{"environments": '
            + json.dumps(self.environments, indent=1)
            + ',\n"summary": '
            + json.dumps(self.extra, indent=1)
            + ',\n"runs": {\n'
            + ",\n".join(lines)
            + "\n}}\n"
        )
        self.path.write_text(text)

    def run(
        self,
        task: str,
        peer: str,
        seed: int,
        space: dict[str, tuple],
        f: Function,
        budget: int,
        run: Run | None = None,
    ) -> None:
        """Run what is not in the file yet: the peer of that name, or `run`."""
        key = f"{task}|{peer}|{seed}"
        if key in self.runs:
            return
        try:
            self.runs[key] = record(run or PEERS[peer], space, f, budget, seed)
        except Exception as error:  # a peer's own fault is a row, not the end
            print(key, "failed:", type(error).__name__, str(error)[:200], flush=True)
            return
        self.save()
