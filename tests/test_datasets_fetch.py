# SPDX-License-Identifier: BSD-3-Clause
"""Downloads: a local server, broken transfers, changed files, other tables."""

import bz2
import http.server
import threading

import pytest

from accsmbo import datasets

TABLE = bz2.compress(b"+1 1:0.5 3:1\n-1 2:0.25\n+1 4:1\n")


class Server(http.server.BaseHTTPRequestHandler):
    failures = 0

    def do_GET(self):
        cls = type(self)
        short = self.path == "/short"
        if cls.failures > 0:
            cls.failures -= 1
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(TABLE)))
        self.end_headers()
        self.wfile.write(TABLE[: len(TABLE) // 2] if short else TABLE)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(datasets, "RCV1_SHAPE", (3, 4))
    monkeypatch.setattr(datasets.time, "sleep", lambda seconds: None)
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def test_first_download_is_hashed_and_the_second_call_reads_the_file(server, tmp_path):
    X, y = datasets.fetch_rcv1(tmp_path, url=f"{server}/rcv1")
    assert X.shape == (3, 4)
    assert y.tolist() == [1.0, -1.0, 1.0]
    assert len((tmp_path / "rcv1_train.binary.bz2.sha256").read_text().strip()) == 64
    again, _ = datasets.fetch_rcv1(tmp_path, url="http://127.0.0.1:9/nothing")
    assert (again != X).nnz == 0


def test_it_tries_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(Server, "failures", 2)
    assert datasets.fetch_rcv1(tmp_path, url=f"{server}/rcv1")[0].shape == (3, 4)


@pytest.mark.parametrize("path", ["short", "rcv1"])
def test_it_gives_up_and_leaves_nothing(server, tmp_path, monkeypatch, path):
    monkeypatch.setattr(Server, "failures", 0 if path == "short" else 9)
    with pytest.raises(ConnectionError, match="could not be downloaded in 3 attempts"):
        datasets.fetch_rcv1(tmp_path, url=f"{server}/{path}")
    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_is_refused(server, tmp_path):
    datasets.fetch_rcv1(tmp_path, url=f"{server}/rcv1")
    (tmp_path / "rcv1_train.binary.bz2").write_bytes(TABLE + b" ")
    with pytest.raises(ValueError, match="another SHA-256 than rcv1_train"):
        datasets.fetch_rcv1(tmp_path)


def test_another_table_is_refused(server, tmp_path):
    with pytest.raises(ValueError, match="must hold 72309 rows of 20958 features"):
        datasets.fetch_real_sim(tmp_path, url=f"{server}/real-sim")
