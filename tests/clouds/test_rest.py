"""The REST reader against a server that throttles, stalls, repeats pages and answers nonsense."""

from __future__ import annotations

import socket
import threading
import time

import httpx
import pytest

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline, ProxyError, Timeouts, together
from sizewell.clouds.connections import check_proxy, http_client
from sizewell.clouds.download import download
from sizewell.clouds.gcp import Google
from sizewell.clouds.rest import Reader, base_url
from tests.clouds.rest_server import Reply, Server

FAST = Timeouts(connect_s=0.5, read_s=0.3, attempts=3, backoff_s=0.01)


def reader(server: Server, *, total_s: float = 10.0) -> Reader:
    return Reader(service="stand-in", base=server.url, deadline=Deadline(total_s), timeouts=FAST)


def test_pages_by_token_follow_to_the_end(server):
    # The form of compute's zones.list: items and nextPageToken, sent back as pageToken.
    server.reply("GET /v1/zones?filter=a+b", Reply({"items": [{"name": "a"}], "nextPageToken": "t2"}))
    server.reply("GET /v1/zones?filter=a+b&pageToken=t2", Reply({"items": [{"name": "b"}]}))
    rows = list(reader(server).pages("v1/zones", items="items", parameter="pageToken", filter="a b"))
    assert [row["name"] for row in rows] == ["a", "b"]


def test_a_link_is_followed_on_our_own_host_alone(server):
    # Azure's nextLink is absolute; the bearer token must not go to another host, and a replay must stay one.
    server.reply("GET /skus", Reply({"value": [{"n": 1}], "nextLink": "https://elsewhere.example/skus?$skip=1"}))
    server.reply("GET /skus?$skip=1", Reply({"value": [{"n": 2}]}))
    assert [row["n"] for row in reader(server).pages("skus", items="value")] == [1, 2]


def test_a_page_that_comes_again_is_an_error_and_no_loop(server):
    server.reply("GET /v1/zones", Reply({"items": [], "nextPageToken": "same"}))
    with pytest.raises(CloudError, match="same page again") as error:
        list(reader(server).pages("v1/zones", items="items", parameter="pageToken"))
    assert error.value.reason == "unanswered"


@pytest.mark.parametrize(
    "first",
    [
        Reply({}, 429, {"Retry-After": "0"}),
        Reply(b"<html>busy</html>", 503),
        Reply({"error": {"code": 403, "errors": [{"reason": "rateLimitExceeded"}]}}, 403),
        Reply({}, 200, delay_s=0.6),
    ],
    ids=["throttled", "unavailable", "google-rate-limit", "stalled"],
)
def test_what_passes_by_is_asked_again(server, first):
    server.reply("GET /x", first, Reply({"fine": True}))
    assert reader(server).get("x") == {"fine": True}
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("reply", "reason", "says"),
    [
        (Reply({"error": {"code": 401, "message": "no token"}}, 401), "login", "no token"),
        (Reply({"error": {"code": 403, "message": "lacks\n x.y"}}, 403), "denied", "lacks x.y"),
        (Reply({"error": {"code": "NotFound", "message": "no such"}}, 404), "missing", "no such"),
        (Reply({"error": {"code": 400, "message": "bad filter"}}, 400), "refused", "bad filter"),
        (Reply(b"<html>sign in</html>", 200), "unanswered", "not a JSON object"),
        (Reply([], 200), "unanswered", "not a JSON object"),
        (Reply({"error": {"message": "an error page"}}, 200), "unanswered", "an error page"),
        (Reply(b"", 302, {"Location": "http://elsewhere.example"}), "unanswered", "status 302"),
        (Reply(b"busy", 503), "unanswered", "status 503"),
    ],
)
def test_each_failure_has_its_reason(server, reply, reason, says):
    server.reply("GET /x", reply)
    with pytest.raises(CloudError, match=says) as error:
        reader(server).get("x")
    assert error.value.reason == reason
    assert error.value.exit_code == 69


def test_no_wait_outlasts_the_deadline(server):
    server.reply("GET /x", Reply({}, 429, {"Retry-After": "3600"}))
    began = time.monotonic()
    with pytest.raises(CloudError, match="requests a wait of 3600") as error:
        reader(server, total_s=1.0).get("x")
    assert error.value.reason == "unanswered"
    assert time.monotonic() - began < 1.0


def test_nothing_is_asked_after_the_deadline(server):
    with pytest.raises(CloudError, match="not called"):
        reader(server, total_s=0.0).get("x")
    assert server.asked == []


def test_nobody_there_is_unanswered():
    gone = Reader(service="gone", base="http://127.0.0.1:9", deadline=Deadline(5), timeouts=FAST)
    with pytest.raises(CloudError, match=r"no response from 127\.0\.0\.1:9") as error:
        gone.get("x")
    assert error.value.reason == "unanswered"


def test_many_questions_are_asked_at_once_and_answered_in_order(server):
    for number in range(16):
        server.reply(f"GET /{number}", Reply({"n": number}, delay_s=0.1))
    asking = reader(server)
    began = time.monotonic()
    answers = together({str(n): lambda n=n: asking.get(str(n)) for n in range(17)})
    assert time.monotonic() - began < 1.0  # one by one it would take 1.6 s
    assert [answer["n"] for name, answer in answers.items() if name != "16"] == list(range(16))
    assert isinstance(answers["16"], CloudError)


def test_base_addresses_come_from_the_environment(monkeypatch, server):
    assert base_url("google", "compute", "https://compute.googleapis.com") == "https://compute.googleapis.com"
    monkeypatch.setenv("GOOGLE_ENDPOINT_URL", server.url)
    assert Google(Deadline(1)).reader("compute").base == server.url
    monkeypatch.setenv("GOOGLE_ENDPOINT_URL_COMPUTE", "http://other")
    assert Google(Deadline(1)).reader("compute").base == "http://other"
    monkeypatch.setenv("AZURE_ENDPOINT_URL_PRICES", server.url)
    assert Azure(Deadline(1)).reader("prices").base == server.url
    assert Azure(Deadline(1)).reader().base == "https://management.azure.com"


@pytest.mark.parametrize(("cloud", "variable"), [(Google, "GOOGLE_OAUTH_ACCESS_TOKEN"), (Azure, "AZURE_ACCESS_TOKEN")])
def test_a_token_of_the_environment_is_sent_and_public_lists_get_none(monkeypatch, server, cloud, variable):
    monkeypatch.setenv(variable, "t0ken")
    monkeypatch.setenv(f"{variable.partition('_')[0]}_ENDPOINT_URL", server.url)
    server.reply("GET /x", Reply({}))
    own = cloud(Deadline(5), timeouts=FAST)
    (own.reader("compute") if cloud is Google else own.reader()).get("x")
    (own.reader("cloudbilling", authorized=False) if cloud is Google else own.reader("prices")).get("x")
    assert [headers.get("Authorization") for headers in server.headers] == ["Bearer t0ken", None]


def test_without_a_login_the_message_says_how(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(CloudError, match="gcloud auth application-default login") as error:
        Google(Deadline(5), timeouts=FAST).reader("compute").get("x")
    assert error.value.reason == "login"


def test_without_a_network_nothing_is_asked_again(tmp_path, monkeypatch):
    """A name that is not known: said at once, by a call and by a download; each wait would be a second here."""
    asked = []

    def unknown(host, *_, **__):
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    waits = Timeouts(attempts=5, backoff_s=1.0)
    with pytest.raises(CloudError, match=r"no response from prices\.example"):
        Reader(service="prices", base="https://prices.example/", deadline=Deadline(60.0), timeouts=waits).get("all")
    with pytest.raises(CloudError, match="no response"):
        download("prices", "https://prices.example/all.csv", tmp_path / "all.csv", Deadline(60.0), timeouts=waits)
    assert len(asked) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_proxy_that_refuses_is_named_and_not_asked_again(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # nobody listens there once it is closed
    for name in ("HTTPS_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    waits = Timeouts(attempts=5, backoff_s=100.0)
    by_proxy = (
        lambda: Reader(service="x", base="https://prices.example/", deadline=Deadline(9.0), timeouts=waits).get("all"),
        lambda: download("x", "https://prices.example/a.csv", tmp_path / "a.csv", Deadline(9.0), timeouts=waits),
    )
    for ask in by_proxy:
        with pytest.raises(CloudError, match="unset or correct HTTPS_PROXY") as error:
            ask()
        assert error.value.local


@pytest.mark.parametrize(
    ("answer", "said"), [(b"", "does not respond"), (b"HTTP/1.1 407 No\r\n\r\n", "refuses.*407 No")]
)
def test_a_proxy_that_opens_no_tunnel_is_named_without_its_password(answer, said, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def serve() -> None:
            for _ in range(2):
                connection, _ = proxy.accept()
                if answer:
                    connection.sendall(answer)
                kept.append(connection)

        kept = []
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = f"127.0.0.1:{proxy.getsockname()[1]}"
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{address}/")
        monkeypatch.delenv("NO_PROXY", raising=False)
        limits = Timeouts(attempts=5, read_s=0.2 if not answer else 20.0, backoff_s=0.0)
        with pytest.raises(ProxyError, match=f"the proxy {address} {said}") as error:
            Reader(service="x", base="https://prices.example/", deadline=Deadline(60.0), timeouts=limits).get("all")
        assert bool(error.value.refusal) == bool(answer)
        assert len(kept) <= 2


def test_a_proxy_that_takes_no_connection_is_asked_twice(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    asked = []

    class Silent(httpx.BaseTransport):
        def handle_request(self, request):
            asked.append(request.url.host)
            raise httpx.ConnectTimeout("timed out")

    http = httpx.Client(transport=Silent())
    limits = Timeouts(attempts=5, backoff_s=0.0)
    with pytest.raises(ProxyError, match=r"the proxy proxy.example:3128 does not respond"):
        Reader(service="x", base="https://a.example", deadline=Deadline(60), timeouts=limits, http=http).get("all")
    assert asked == ["a.example"] * 2


def test_a_cloud_that_is_late_behind_a_proxy_is_not_the_proxy(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    request = httpx.Request("GET", "https://a.example")
    check_proxy("x", httpx.ReadTimeout("late", request=request))


def test_a_proxy_that_refuses_while_a_login_of_aws_is_looked_for():
    from botocore.exceptions import ProxyConnectionError

    def ask() -> object:
        raise ProxyConnectionError(proxy_url="http://127.0.0.1:9")

    aws = Aws(Deadline(9.0))
    aws.session.client = lambda *_, **__: ask()
    with pytest.raises(CloudError, match="unset or correct HTTPS_PROXY") as error:
        aws.client("ec2", "us-east-1")
    assert error.value.local


def test_a_proxy_of_the_environment_is_asked_with_its_login(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", server.url.replace("//", "//me:p%40ss@"))
    server.reply("GET http://prices.example/x", Reply({"fine": True}))
    asked = Reader(service="stand-in", base="http://prices.example", deadline=Deadline(5), timeouts=FAST)
    assert asked.get("x") == {"fine": True}
    assert server.headers[0]["Proxy-Authorization"] == "Basic bWU6cEBzcw=="  # me:p@ss


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        ("https://sts.example/", {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ("https://sts.example/", {"https_proxy": "p:3128"}, "http://p:3128"),
        ("https://sts.example/", {"ALL_PROXY": "http://p:3128"}, "http://p:3128"),
        ("https://sts.example/", {"HTTP_PROXY": "http://p:3128"}, ""),
        ("https://sts.example/", {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "corp,.example"}, ""),
        ("http://127.0.0.1:8080/", {"HTTP_PROXY": "http://p:3128"}, ""),
        ("http://169.254.169.254/metadata", {"HTTP_PROXY": "http://p:3128"}, ""),
        ("http://metadata.google.internal/x", {"HTTP_PROXY": "http://p:3128"}, ""),
        ("https://sts.example/", {}, ""),
    ],
)
def test_which_proxy_an_address_has(url, environment, proxy, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = []

    class Transport(httpx.BaseTransport):
        def __init__(self, *, proxy=None, **_):
            self.proxy = proxy

        def handle_request(self, _):
            made.append(f"{self.proxy.url}" if self.proxy else "")
            return httpx.Response(200)

    monkeypatch.setattr("httpx._client.HTTPTransport", Transport)
    http_client().get(url)
    assert made == [proxy]
