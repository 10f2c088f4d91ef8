# SPDX-License-Identifier: BSD-3-Clause
"""Losses that misbehave in worker processes, and that note where they ran."""

import os
import signal
import time
from pathlib import Path

from accsmbo import Real

SPACE = {"x": Real(-1.0, 2.0), "y": Real(0.0, 1.0)}


def loss(params):
    return params["x"] ** 2 + params["y"]


class Notes:
    """Calls `func` after noting `number-pid` in a folder; the params tell the trial."""

    def __init__(self, folder, seconds=0.0):
        self.folder = str(folder)
        self.seconds = seconds

    def __call__(self, params):
        with open(Path(self.folder) / "calls", "a") as file:
            file.write(f"{params['x']!r} {os.getpid()} {time.time()!r}\n")
        time.sleep(self.seconds)
        return loss(params)

    def calls(self):
        """One (x, pid, start) for each call, in order."""
        path = Path(self.folder) / "calls"
        rows = [line.split() for line in path.read_text().splitlines()]
        return [(float(x), int(pid), float(start)) for x, pid, start in rows]


class Misbehaves:
    """Does something fatal where x is above `limit`."""

    def __init__(self, how, limit=0.5):
        self.how = how
        self.limit = limit

    def __call__(self, params):
        if params["x"] > self.limit:
            getattr(self, self.how)()
        return loss(params)

    def sleep(self):
        time.sleep(3600)

    def allocate(self):
        held = []
        while True:
            held.append(bytearray(20_000_000))

    def exit(self):
        os._exit(3)

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)
