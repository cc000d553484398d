"""A machine whose clock is wrong sees idleness and ends that are not there: it stops nothing."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import clock, run
from tests.teardown.test_run import described, evening, stack

__all__ = ["evening"]  # a fixture

AT = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)


@pytest.fixture
def service(monkeypatch):
    """A service whose Date header a test sets; what it was asked."""
    told: dict[str, Any] = {"date": "", "asked": []}

    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self):
            told["asked"].append(self.path)
            self.send_response_only(403)
            if told["date"]:
                self.send_header("Date", told["date"])
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    told["url"] = f"http://127.0.0.1:{server.server_address[1]}"
    for cloud in ("AWS", "GOOGLE", "AZURE"):
        monkeypatch.setenv(f"{cloud}_ENDPOINT_URL_CLOCK", told["url"])
    yield told
    server.shutdown()
    server.server_close()


def tells(service, at):
    service["date"] = format_datetime(at, usegmt=True)


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
@pytest.mark.parametrize("off_s", [-300, -1, 0, 299])
def test_a_clock_within_the_limit_is_right(service, cloud, off_s):
    tells(service, AT - timedelta(seconds=off_s))
    assert clock.must_be_right(cloud, AT, off_s_max=300) == off_s
    assert service["asked"], "refusing an unknown caller is an answer with a time too"


@pytest.mark.parametrize(("off_s", "words"), [(301, "301 s fast"), (-3600, "3600 s slow")])
def test_a_clock_beyond_the_limit_is_an_error_with_the_way_out(service, off_s, words):
    tells(service, AT - timedelta(seconds=off_s))
    with pytest.raises(ServiceError, match=f"this clock is {words} by {service['url']}; 300 s are allowed") as error:
        clock.must_be_right("aws", AT, off_s_max=300)
    assert "fix: set the clock" in str(error.value)


def test_a_service_that_tells_no_time_stops_nothing(service):
    with pytest.raises(ServiceError, match="did not return the time"):
        clock.must_be_right("aws", AT, off_s_max=300)
    service["date"] = "the day before yesterday"
    with pytest.raises(ServiceError, match="did not return the time"):
        clock.must_be_right("aws", AT, off_s_max=300)


def test_nobody_there_stops_nothing(service, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_CLOCK", "http://127.0.0.1:9")
    with pytest.raises(ServiceError, match="did not return the time"):
        clock.must_be_right("aws", AT, off_s_max=300)


def test_a_run_by_a_wrong_clock_does_nothing(evening, service, monkeypatch):
    monkeypatch.setattr(run, "must_be_right", clock.must_be_right)
    stack(evening)
    evening.told()
    tells(service, evening.now - timedelta(minutes=6))
    with pytest.raises(ServiceError, match="360 s fast"):
        evening.run()
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1
    tells(service, evening.now)
    assert ("dev-aws", "empty", "done") in evening.outcomes()
