# SPDX-License-Identifier: BSD-3-Clause
"""EmpiricalDensity.from_openml on answers that an OpenML server once gave.

The runs are recorded ones (numbers, parameter settings, data sets); a local server puts
those that match a query into the two lists that the client asks for, which were not
recorded themselves. Its errors are written by hand.
"""

import gzip
import http.server
import threading
import xml.etree.ElementTree as ET

import pytest

from accsmbo import Integer, Real
from accsmbo.datasets import data_folder
from accsmbo.metalearning import EmpiricalDensity

openml = pytest.importorskip("openml")

FOLDER = data_folder() / "openml_recorded"
RUNS = ("1", "219", "220", "221", "222", "223", "224", "26936")
NS = {"oml": "http://openml.org/openml"}
XMLNS = 'xmlns:oml="http://openml.org/openml"'
WRONG_KEY = (
    f"<oml:error {XMLNS}><oml:code>103</oml:code>"
    "<oml:message>Authentication failed</oml:message></oml:error>"
)
SPACE = {"xval": Integer(0, 10), "cp": Real(1e-4, 1.0, log=True)}

pytestmark = [
    pytest.mark.skipif(
        not FOLDER.exists(),
        reason=f"NOT CHECKED AGAINST OPENML: {FOLDER} is missing; set ACCSMBO_DATA",
    ),
    pytest.mark.filterwarnings("ignore"),
]


def recorded(name):
    return gzip.decompress((FOLDER / name).read_bytes()).decode()


def text(element, name):
    return element.findtext(f"oml:{name}", namespaces=NS)


def elements(**values):
    return "".join(f"<oml:{k}>{v}</oml:{k}>" for k, v in values.items())


def evaluations(runs, measure):
    """Return the list of the evaluations of some runs by one measure."""
    rows = []
    for run in runs:
        for found in run.iterfind("oml:output_data/oml:evaluation", NS):
            # those with attributes are of single folds
            if text(found, "name") == measure and not found.attrib:
                names = ("run_id", "task_id", "setup_id", "flow_id", "flow_name")
                dataset = run.find("oml:input_data/oml:dataset", NS)
                rows.append(
                    elements(
                        **{name: text(run, name) for name in names},
                        data_id=text(dataset, "did"),
                        data_name=text(dataset, "name"),
                        function=measure,
                        upload_time="2017-01-01 00:00:00",
                        uploader=text(run, "uploader"),
                        value=text(found, "value"),
                    )
                )
    inside = "".join(f"<oml:evaluation>{row}</oml:evaluation>" for row in rows)
    return f"<oml:evaluations {XMLNS}>{inside}</oml:evaluations>" if rows else None


def setups(runs):
    """Return the list of the setups of some runs."""
    inside = ""
    for run in {text(run, "setup_id"): run for run in runs}.values():
        flow = text(run, "flow_name")
        rows = "".join(
            "<oml:parameter>"
            + elements(
                id=i,
                flow_id=text(run, "flow_id"),
                flow_name=flow,
                full_name=f"{flow}_{text(setting, 'name')}",
                parameter_name=text(setting, "name"),
                data_type="x",
                default_value="",
                value=text(setting, "value"),
            )
            + "</oml:parameter>"
            for i, setting in enumerate(run.iterfind("oml:parameter_setting", NS))
        )
        ids = elements(setup_id=text(run, "setup_id"), flow_id=text(run, "flow_id"))
        inside += f"<oml:setup>{ids}{rows}</oml:setup>"
    return f"<oml:setups {XMLNS}>{inside}</oml:setups>"


def users(runs):
    """Return the uploaders of some runs."""
    names = {text(run, "uploader"): text(run, "uploader_name") for run in runs}
    inside = "".join(
        f"<oml:user>{elements(id=number, username=name)}</oml:user>"
        for number, name in names.items()
    )
    return f"<oml:users {XMLNS}>{inside}</oml:users>"


class Answers(http.server.BaseHTTPRequestHandler):
    error = None

    def do_GET(self):
        path, _, query = self.path.partition("?")
        parts = path.split("/")
        runs = self.server.runs
        if "wrong" in query:
            self.answer(412, WRONG_KEY)
        elif self.error:
            self.answer(412, self.error)
        elif "evaluation" in parts:
            wanted = {k: parts[parts.index(k) + 1] for k in ("task", "flow")}
            matching = [
                r
                for r in runs
                if all(text(r, f"{k}_id") == v for k, v in wanted.items())
            ]
            found = evaluations(matching, parts[parts.index("function") + 1])
            nothing = (
                f"<oml:error {XMLNS}>{elements(code=542, message='No results')}"
                "</oml:error>"
            )
            self.answer(200 if found else 412, found or nothing)
        elif "user" in parts:
            self.answer(200, users(runs))
        else:
            numbers = parts[parts.index("list") + 2].split(",")
            self.answer(
                200, setups([r for r in runs if text(r, "setup_id") in numbers])
            )

    def answer(self, status, body):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def runs():
    return [ET.fromstring(recorded(f"r/runs/{n}/run.xml.gz")) for n in RUNS]


@pytest.fixture
def server(runs, monkeypatch, tmp_path):
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    httpd.runs = runs
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
def test_recorded_runs_of_a_flow():
    density = EmpiricalDensity.from_openml(16, [19, 20, 59], SPACE)
    assert [t.name for t in density._tasks] == ["balance-scale", "balance-scale"]
    assert [t.scores for t in density._tasks] == [[0.7856], [0.75264]]
    assert [t.params[0]["xval"] for t in density._tasks] == [0, 0]
    assert [t.origin["task"] for t in density._tasks] == [19, 20]
    assert density.source_ == "OpenML flow 16, predictive_accuracy, 2 tasks"


@pytest.mark.usefixtures("server")
def test_another_measure():
    density = EmpiricalDensity.from_openml(
        16, [19], SPACE, metric="area_under_roc_curve"
    )
    assert density._tasks[0].scores == [0.801187]


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("flow", "task", "metric"),
    [
        pytest.param(75243, 59, "predictive_accuracy", id="run without evaluations"),
        pytest.param(16, 19, "no_such_measure", id="no such measure"),
        pytest.param(999, 19, "predictive_accuracy", id="no such flow"),
    ],
)
def test_empty_answer(flow, task, metric):
    with pytest.raises(ValueError, match=f"must have evaluations of flow {flow} by"):
        EmpiricalDensity.from_openml(flow, [task], SPACE, metric=metric)


@pytest.mark.usefixtures("server")
def test_wrong_key(monkeypatch):
    monkeypatch.setattr(openml.config, "apikey", "wrong" + "0" * 27)
    with pytest.raises(PermissionError, match=r"refused the key: .*Authentication"):
        EmpiricalDensity.from_openml(16, [19], SPACE)


@pytest.mark.usefixtures("server")
def test_an_error_of_the_server_is_shown(monkeypatch):
    text = recorded("python/mock_responses/runs/run_delete_not_exist.xml.gz")
    monkeypatch.setattr(Answers, "error", text)
    message = r"could not be read: .*Run does not exist.*from_histories"
    with pytest.raises(ConnectionError, match=message):
        EmpiricalDensity.from_openml(16, [19], SPACE)


def test_no_network(server):
    server.shutdown()
    server.server_close()
    with pytest.raises(ConnectionError, match=r"could not be read: .*the network"):
        EmpiricalDensity.from_openml(16, [19], SPACE)
