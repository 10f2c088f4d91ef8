# SPDX-License-Identifier: BSD-3-Clause
"""The study of the l2 penalty from end to end, on a small table that is downloaded."""

import bz2
import http.server
import importlib
import io
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_classification

from accsmbo import datasets

STUDIES = Path(__file__).resolve().parents[1] / "benchmarks" / "studies"
SHAPE = (240, 12)

pytestmark = pytest.mark.skipif(
    not STUDIES.exists(), reason="the studies are not part of an installed package"
)


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    module = importlib.import_module("l2_logistic")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    yield module
    for name in [
        n
        for n, m in sys.modules.items()
        if str(STUDIES) in str(getattr(m, "__file__", ""))
    ]:
        del sys.modules[name]


@pytest.fixture
def real_sim(monkeypatch):
    X, y = make_classification(*SHAPE, flip_y=0.2, random_state=0)
    text = io.BytesIO()
    dump_svmlight_file(X, 2 * y - 1, text, zero_based=False)
    body = bz2.compress(text.getvalue())

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setattr(datasets, "LIBSVM", f"http://127.0.0.1:{httpd.server_port}")
    monkeypatch.setattr(datasets, "REAL_SIM", (SHAPE, int(y.sum())))
    yield X
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def test_real_sim_is_downloaded_and_timed(study, real_sim, tmp_path, capsys):
    rows = study.clock("real-sim", str(tmp_path), None, 1)
    assert "smac is not installed" in capsys.readouterr().out
    assert (tmp_path / "real-sim.bz2.sha256").exists()
    found = {row["method"]: row for row in rows}
    assert set(found) == {
        "accsmbo",
        "accsmbo without gradients",
        "smbo",
        "hoag",
        "random",
    }
    for row in rows:
        assert len(row["seconds"]) == len(row["course"]) > 0
        assert (np.diff(row["seconds"]) >= 0).all()
        assert (np.diff(row["course"]) <= 0).all()
        assert row["grid_of_20"] > 0 < row["one_fit"]
    # without a table the least loss is the least that was found
    assert found["accsmbo"]["course"][-1] < 1e-3
    assert found["accsmbo"]["cpu_seconds_to_0.1%"] is not None
    X, _ = study.load("real-sim", str(tmp_path))
    assert np.allclose(X.toarray(), real_sim)


def test_counts_and_figure(study, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(study, "BUDGET", 8)
    lam = np.linspace(-8.0, 8.0, 65)
    np.savez(
        tmp_path / "curves.npz", rcv1_0_L=lam, rcv1_0_g=1 + lam**2, rcv1_0_d=2 * lam
    )
    rows = study.count("rcv1", str(tmp_path / "curves.npz"), 1)
    found = {row["method"]: row for row in rows}
    # the centre of the space is the minimum
    assert found["accsmbo +"]["evaluations"] == [1]
    assert found["random"]["median_evaluations"] > 1
    assert all(len(row["course"]) == study.BUDGET for row in rows)
    timed = found["smbo"] | {"method": "smbo", "seconds": [0.1, 0.2], "course": [1, 0]}
    study.draw([{"rows": [*rows, timed]}], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
