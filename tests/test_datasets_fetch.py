# SPDX-License-Identifier: BSD-3-Clause
"""Downloads: a local server, broken transfers, changed files, other tables."""

import bz2
import gzip
import hashlib
import http.server
import threading

import pytest

from accsmbo import datasets

TABLE = bz2.compress(b"+1 1:0.5 3:1\n-1 2:0.25\n+1 4:1\n")
ARFF = b"""% a comment
@RELATION pc4
@ATTRIBUTE a NUMERIC
@ATTRIBUTE b NUMERIC
@ATTRIBUTE c {FALSE,TRUE}

@DATA
1,2.5,TRUE
% another
3,4,FALSE
5,-6,FALSE
"""
BODIES = {
    "/rcv1": TABLE,
    "/real-sim": TABLE,
    "/pc4": ARFF,
    "/pc4-short": ARFF[: ARFF.index(b"5,-6")],
    "/cut": TABLE[:-8],
}


class Server(http.server.BaseHTTPRequestHandler):
    """Answers after some failures; /short breaks off in the middle of an answer."""

    failures = 0
    asked = 0

    def do_GET(self):
        cls = type(self)
        cls.asked += 1
        short = self.path == "/short"
        body = BODIES["/rcv1" if short else self.path]
        if cls.failures > 0:
            cls.failures -= 1
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if short else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(datasets, "RCV1", ((3, 4), 2))
    monkeypatch.setattr(datasets, "PC4", ((3, 2), 1))
    monkeypatch.setattr(Server, "asked", 0)
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
    assert Server.asked == 3


def test_pc4_from_openml(server, tmp_path):
    X, y = datasets.fetch_pc4(tmp_path, url=f"{server}/pc4")
    assert X.tolist() == [[1, 2.5], [3, 4], [5, -6]]
    assert y.tolist() == [1, 0, 0]
    noted = (tmp_path / "pc4.arff.sha256").read_text().strip()
    assert noted == hashlib.sha256(ARFF).hexdigest()
    again, _ = datasets.fetch_pc4(tmp_path, url="http://127.0.0.1:9/nothing")
    assert (again == X).all()
    (tmp_path / "pc4.arff").write_bytes(ARFF.replace(b"2.5", b"2.6"))
    with pytest.raises(ValueError, match=r"another SHA-256 than pc4\.arff\.sha256"):
        datasets.fetch_pc4(tmp_path)


@pytest.mark.parametrize(
    ("fetch", "path", "message"),
    [
        ("fetch_pc4", "pc4-short", r"hold 3 rows of 2 .*got shape \(2, 2\) with 1"),
        ("fetch_rcv1", "cut", "hold 3 rows of 4 features, got a file that cannot be"),
        ("fetch_real_sim", "real-sim", "must hold 72309 rows of 20958 features"),
    ],
)
def test_a_download_that_is_another_table_is_not_kept(
    server, tmp_path, fetch, path, message
):
    with pytest.raises(ValueError, match=message):
        getattr(datasets, fetch)(tmp_path, url=f"{server}/{path}")
    assert list(tmp_path.iterdir()) == []


def test_other_label_counts_are_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "RCV1", ((3, 4), 1))
    with pytest.raises(ValueError, match=r"with 1 positive labels, got .* with 2"):
        datasets.fetch_rcv1(tmp_path, url=f"{server}/rcv1")


def test_a_folder_needs_no_network(server, tmp_path):
    """A file that the user put there is checked, noted, and kept where it is wrong."""
    file = tmp_path / "rcv1_train.binary.bz2"
    file.write_bytes(TABLE)
    X, _ = datasets.fetch_rcv1(tmp_path, url="http://127.0.0.1:9/nothing")
    assert X.shape == (3, 4)
    assert file.with_name(file.name + ".sha256").exists()
    (tmp_path / "real-sim.bz2").write_bytes(TABLE)
    with pytest.raises(ValueError, match="must hold 72309 rows"):
        datasets.fetch_real_sim(tmp_path)
    assert (tmp_path / "real-sim.bz2").exists()
    assert not (tmp_path / "real-sim.bz2.sha256").exists()
    assert Server.asked == 0


def test_the_table_of_load_pc4_goes_before_a_download(server, tmp_path):
    with gzip.open(tmp_path / "pc4.csv.gz", "wt") as stream:
        stream.write("a,b,Class\n1,2,TRUE\n3,4,FALSE\n5,6,FALSE\n")
    X, _ = datasets.fetch_pc4(tmp_path, url=f"{server}/pc4")
    assert X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert Server.asked == 0


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
