"""The watcher of reclaim notices, against a metadata service on this machine that answers as the clouds document it."""

import datetime as dt
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import notice
import pytest


@pytest.fixture
def metadata():
    """(address, answers by path, what was posted); a path without an answer is 404."""
    answers, posted = {"/latest/api/token": "t0"}, []

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True

        def do_GET(self):
            said = answers.get(self.path)
            self.send_response(200 if said is not None else 404)
            self.end_headers()
            self.wfile.write((said or "").encode())

        do_PUT = do_GET  # noqa: N815

        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.do_GET()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answers, posted
    server.shutdown()
    server.server_close()


SPOT = "/latest/meta-data/spot/instance-action"
SCHEDULED = "/latest/meta-data/events/maintenance/scheduled"
EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"


def maintenance(minutes, state="active"):
    """As docs.aws.amazon.com/AWSEC2/latest/UserGuide/viewing_scheduled_events.html shows one."""
    begins = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=minutes)
    event = {"NotBefore": f"{begins:%d %b %Y %H:%M:%S} GMT", "Code": "system-reboot", "EventId": "i-1", "State": state}
    return json.dumps([event])


@pytest.mark.parametrize(
    ("cloud", "path", "answer", "noticed"),
    [
        ("aws", SPOT, '{"action": "terminate", "time": "2026-09-18T08:22:00Z"}', True),
        ("aws", SCHEDULED, maintenance(10), True),
        ("aws", SCHEDULED, maintenance(600), False),
        ("aws", SCHEDULED, maintenance(10, "completed"), False),
        ("aws", SCHEDULED, "[]", False),
        ("gcp", "/computeMetadata/v1/instance/preempted", "TRUE", True),
        ("gcp", "/computeMetadata/v1/instance/preempted", "FALSE", False),
        *[
            ("azure", EVENTS, json.dumps({"Events": [{"EventType": kind, "EventId": "e"}]}), holds)
            for kind, holds in (
                ("Preempt", True),
                ("Terminate", True),
                ("Redeploy", True),
                ("Reboot", True),
                ("Freeze", False),
            )
        ],
        ("azure", EVENTS, '{"Events": []}', False),
    ],
)
def test_what_ends_a_machine_is_noticed_and_nothing_else(metadata, cloud, path, answer, noticed):
    address, answers, _ = metadata
    assert notice.CLOUDS[cloud](address) == ""
    answers[path] = answer
    assert bool(notice.CLOUDS[cloud](address)) == noticed


def test_azure_is_told_that_its_event_may_start_once_the_work_has_ended(metadata, tmp_path):
    address, answers, posted = metadata
    answers[EVENTS] = json.dumps({"DocumentIncarnation": 1, "Events": [{"EventType": "Terminate", "EventId": "e-7"}]})
    words = ["--cloud", "azure", "--file", str(tmp_path / "notice"), "--address", address]
    assert notice.main(words) == 0
    assert posted == []
    assert notice.main([*words, "--done"]) == 0
    assert posted == [{"StartRequests": [{"EventId": "e-7"}]}]
