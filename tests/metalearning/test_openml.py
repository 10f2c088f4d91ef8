# SPDX-License-Identifier: BSD-3-Clause
"""EmpiricalDensity.from_openml with a local server: answers, none, wrong key, down."""

import http.server
import threading

import numpy as np
import pytest

from accsmbo import Real
from accsmbo.metalearning import EmpiricalDensity

openml = pytest.importorskip("openml")

SPACE = {"C": Real(1e-3, 1e3, log=True), "gamma": Real(1e-4, 10.0, log=True)}
FLOW = "sklearn.svm.classes.SVC(16)"
N_RUNS = 60
NS = 'xmlns:oml="http://openml.org/openml"'


def elements(**values):
    return "".join(f"<oml:{k}>{v}</oml:{k}>" for k, v in values.items())


def evaluations(task):
    rows = [
        elements(
            run_id=1000 * task + i,
            task_id=task,
            setup_id=i,
            flow_id=8353,
            flow_name=FLOW,
            data_id=task,
            data_name=f"set{task}",
            function="predictive_accuracy",
            upload_time="2017-04-06 23:30:40",
            uploader=1,
            value=1 - 0.01 * abs(i - 30),
        )
        for i in range(N_RUNS)
    ]
    inside = "".join(f"<oml:evaluation>{row}</oml:evaluation>" for row in rows)
    return f"<oml:evaluations {NS}>{inside}</oml:evaluations>"


def setups(numbers):
    inside = ""
    for i in numbers:
        parameters = {"C": 10 ** (3 - 0.1 * i), "gamma": '"auto"', "shrinking": "true"}
        rows = "".join(
            "<oml:parameter>"
            + elements(
                id=j,
                flow_id=8353,
                flow_name=FLOW,
                full_name=f"{FLOW}_{name}",
                parameter_name=name,
                data_type="x",
                default_value="1",
                value=value,
            )
            + "</oml:parameter>"
            for j, (name, value) in enumerate(parameters.items())
        )
        inside += f"<oml:setup>{elements(setup_id=i, flow_id=8353)}{rows}</oml:setup>"
    return f"<oml:setups {NS}>{inside}</oml:setups>"


def error(code, message):
    return f"<oml:error {NS}>{elements(code=code, message=message)}</oml:error>"


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        parts = path.split("/")
        status = 200
        if "wrong" in query:
            status, text = 412, error(103, "Authentication failed")
        elif "evaluation" in parts:
            task = int(parts[parts.index("task") + 1])
            if task == 99:
                status, text = 412, error(542, "No results")
            else:
                text = evaluations(task)
        elif "setup" in parts:
            text = setups(map(int, parts[parts.index("list") + 2].split(",")))
        else:
            user = elements(id=1, username="someone")
            text = f"<oml:users {NS}><oml:user>{user}</oml:user></oml:users>"
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{httpd.server_port}/api/v1/xml"
    monkeypatch.setattr(openml.config, "server", url)
    monkeypatch.setattr(openml.config, "apikey", "")
    monkeypatch.setattr(openml.config, "connection_n_retries", 1)
    openml.config.set_root_cache_directory(str(tmp_path))
    yield httpd
    httpd.shutdown()
    httpd.server_close()


@pytest.mark.usefixtures("server")
@pytest.mark.filterwarnings("ignore")
class TestServer:
    def test_best_of_each_task(self):
        density = EmpiricalDensity.from_openml(8353, [3, 6, 9], SPACE)
        assert density.n_tasks_ == density.n_good_tasks_ == 3
        assert "OpenML flow 8353" in density.source_
        assert [t.name for t in density._tasks] == ["set3", "set6", "set9"]
        C = [p["C"] for p in density._tasks[0].params]
        assert np.allclose(np.log10(C), 3 - 0.1 * np.arange(N_RUNS))
        # the best have C near 1; "auto" says nothing of gamma
        U = np.array([[0.5, 0.1], [0.5, 0.9], [0.0, 0.5]])
        p = density.pdf(U)
        assert p[0] == pytest.approx(p[1])
        assert p[0] > 2 * p[2]

    def test_tasks_without_results_are_left_out(self):
        density = EmpiricalDensity.from_openml(8353, [3, 99, 6], SPACE)
        assert density.n_tasks_ == 2

    def test_nothing(self):
        with pytest.raises(
            ValueError, match="tasks must have evaluations of flow 8353"
        ):
            EmpiricalDensity.from_openml(8353, [99], SPACE)

    def test_wrong_key(self, monkeypatch):
        monkeypatch.setattr(openml.config, "apikey", "wrong" + "0" * 27)
        with pytest.raises(PermissionError, match=r"refused the key: .*apikey"):
            EmpiricalDensity.from_openml(8353, [3], SPACE)


@pytest.mark.filterwarnings("ignore")
def test_no_network(server):
    server.shutdown()
    server.server_close()
    with pytest.raises(ConnectionError, match=r"could not be read: .*from_histories"):
        EmpiricalDensity.from_openml(8353, [3], SPACE)
