"""Who hears of a step: topics of moto, a mail server, webhooks and PagerDuty."""

from __future__ import annotations

import json
import socketserver
import threading
from typing import Any

import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.sns.models import sns_backends

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import notices
from sizewell.teardown.notices import Notice, Receivers, Topic
from tests.teardown import world
from tests.teardown.test_run import REGION, client, stack

KEY = "0123456789abcdef0123456789abcdef"
NOTIFY = {"emails": ["ana@example.com"], "webhooks": ["https://hooks.example/secret"], "pagerduty": [KEY]}


class MailServer(socketserver.ThreadingTCPServer):
    """As much of SMTP (RFC 5321) as one message needs; addresses in `unknown` are refused."""

    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.letters: list[tuple[list[str], str]] = []
        self.unknown: set[str] = set()


class _Session(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        to: list[str] = []
        while line := self.rfile.readline().decode().strip():
            verb = line.upper()
            if verb.startswith("RCPT TO:"):
                address = line[8:].strip("<>").split(">")[0]
                known = address not in self.server.unknown
                to += [address] if known else []
                self.wfile.write(b"250 ok\r\n" if known else b"550 unknown\r\n")
            elif verb == "DATA":
                self.wfile.write(b"354 go on\r\n")
                text = ""
                while (part := self.rfile.readline().decode()) != ".\r\n":
                    text += part
                self.server.letters.append((to, text))
                self.wfile.write(b"250 ok\r\n")
            elif verb == "QUIT":
                self.wfile.write(b"221 bye\r\n")
                return
            else:
                self.wfile.write(b"250 ok\r\n")


@pytest.fixture
def mail_server():
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def topic(evening: Any, *, hooks: int, confirmed: bool = True) -> str:
    """A topic of the stack, in its state and in moto: an address, and so many hooks."""
    sns = client("sns", REGION)
    arn = sns.create_topic(Name="sizewell-dev-aws-train-idle")["TopicArn"]
    kinds = [("email", "ana@example.com"), *[("https", "[secret]")] * hooks]
    for number, (protocol, endpoint) in enumerate(kinds if confirmed else ()):
        another = {"Protocol": "email-json", "Endpoint": f"{number}@example.com"}  # moto posts to what is subscribed
        sns.subscribe(
            TopicArn=arn, **(another if protocol == "https" else {"Protocol": protocol, "Endpoint": endpoint})
        )
    subscriptions = [
        world.resource(
            *("dev-aws", "aws:sns/topicSubscription:TopicSubscription", f"train-idle-{number}", f"{arn}:{number}"),
            inputs={"topic": arn, "protocol": protocol, "endpoint": endpoint},
        )
        for number, (protocol, endpoint) in enumerate(kinds)
    ]
    made = world.resource("dev-aws", "aws:sns/topic:Topic", "train-idle", arn)
    evening.shelf.put("dev-aws", *evening.shelf.states["dev-aws"][1:], made, *subscriptions)
    return str(arn)


def published(arn: str) -> list[tuple[str, str]]:
    sent = sns_backends[DEFAULT_ACCOUNT_ID][REGION].topics[arn].sent_notifications
    return [(subject, text) for _, text, subject, *_ in sent]


def test_one_message_to_the_stacks_topic_reaches_all_of_its_receivers_once(evening):
    stack(evening)
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": NOTIFY}
    arn = topic(evening, hooks=2)
    posted: list[str] = []
    assert evening.outcomes(send=lambda url, _: posted.append(url)) == [("dev-aws", "notice", "told")]
    assert evening.outcomes(send=lambda url, _: posted.append(url)) == []  # once a step
    assert posted == []
    ((subject, text),) = published(arn)
    forms = json.loads(text)
    assert subject.startswith("ALARM: sizewell dev-aws train idle")
    assert "sizewell keep dev-aws 24h --reason TEXT" in forms["email"]
    assert json.loads(forms["https"])["NewStateValue"] == "ALARM"
    (record,) = evening.journal.records
    assert (record["heard"], record["unheard"]) == (["topic sizewell-dev-aws-train-idle"], [])


def test_a_topic_that_nobody_has_confirmed_is_no_way_to_tell(evening):
    """SNS takes each message of it, and sends it to nobody."""
    stack(evening)
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": {"emails": ["ana@example.com"]}}
    arn = topic(evening, hooks=0, confirmed=False)
    assert evening.outcomes() == [("dev-aws", "notice", "failed")]
    assert published(arn) == []
    assert "notice" not in [record["kind"] for record in evening.journal.records]  # none that counts


def test_who_was_added_since_the_last_update_hears_too(evening, mail_server):
    stack(evening)
    host, port = mail_server.server_address
    evening.settings["mail"] = {"host": host, "port": port, "sender": "teardown@example.com", "tls": "none"}
    more = {**NOTIFY, "emails": ["ana@example.com", "bo@example.com"]}
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": more}
    topic(evening, hooks=0)
    posted: list[str] = []
    evening.run(send=lambda url, _: posted.append(url))
    assert posted == ["https://hooks.example/secret", notices.PAGERDUTY]
    assert [to for to, _ in mail_server.letters] == [["bo@example.com"]]


def test_without_a_topic_each_way_is_gone_by_itself(evening, mail_server):
    stack(evening)
    host, port = mail_server.server_address
    evening.settings["mail"] = {"host": host, "port": port, "sender": "teardown@example.com", "tls": "none"}
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": NOTIFY}
    posted: list[tuple[str, Any]] = []
    evening.run(send=lambda url, body: posted.append((url, body)))
    (hook, slack), (pager, event) = posted
    assert (hook, pager) == ("https://hooks.example/secret", notices.PAGERDUTY)
    assert "sizewell keep dev-aws" in slack["text"]
    assert event["routing_key"] == KEY
    assert event["dedup_key"] == "sizewell dev-aws train idle"
    assert {*event["payload"]} >= {"summary", "source", "severity"}
    ((to, letter),) = mail_server.letters
    assert to == ["ana@example.com"]
    assert "Subject: sizewell dev-aws train idle" in letter
    assert KEY not in json.dumps(evening.journal.records)


def test_a_way_that_fails_is_said_and_the_others_count(evening):
    stack(evening)
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": NOTIFY}  # no mail server, no topic
    (result,) = evening.run(send=lambda *_: None)
    assert result.outcome == "told"
    assert (
        "not told: e-mail: the stack has no topic to which these addresses have confirmed a subscription"
        in result.detail
    )
    assert evening.journal.records[0]["heard"] == ["webhook 0", "PagerDuty 0"]


def test_addresses_alone_and_no_way_to_them_is_no_notice(evening):
    stack(evening)
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": {"emails": ["ana@example.com"]}}
    (result,) = evening.run()
    assert (result.outcome, result.detail[:24]) == ("failed", "no notice was delivered:")
    assert evening.journal.records == []


NOTICE = Notice(stack="dev-aws", pool="train", about="idle", text="emptied from 12:00 UTC")


def told(**more: Any) -> tuple[list[str], list[str]]:
    given = {"topic": None, "publish": lambda *_: None, "send": lambda *_: None, "mail": None, **more}
    return notices.tell(NOTICE, Receivers.of(more.pop("receivers", NOTIFY)), **given)


def test_a_topic_that_refuses_is_passed_by(mail_server):
    def refuses(*_: object) -> None:
        raise ServiceError("sns: AuthorizationError")

    host, port = mail_server.server_address
    mail = notices.Mail(host=host, port=port, sender="teardown@example.com", tls="none")
    own = Topic(arn="arn:aws:sns:us-east-1:123456789012:idle", emails=frozenset({"ana@example.com"}), hooks=2)
    heard, failed = told(topic=own, publish=refuses, mail=mail)
    assert heard == ["webhook 0", "PagerDuty 0", "e-mail"]
    assert failed == ["topic idle: sns: AuthorizationError"]


@pytest.mark.parametrize(
    ("tls", "unknown", "says"),
    [("starttls", set(), "`tls: none` under mail:"), ("none", {"ana@example.com"}, "refused ana@example.com")],
)
def test_mail_that_is_refused_is_not_heard(mail_server, tls, unknown, says):
    mail_server.unknown = unknown
    host, port = mail_server.server_address
    mail = notices.Mail(host=host, port=port, sender="teardown@example.com", tls=tls)
    heard, failed = told(mail=mail)
    assert heard == ["webhook 0", "PagerDuty 0"]
    assert says in failed[0]
    assert mail_server.letters == []


def test_mail_that_one_of_two_takes_is_heard_and_the_other_is_named(mail_server):
    mail_server.unknown = {"ana@example.com"}
    host, port = mail_server.server_address
    mail = notices.Mail(host=host, port=port, sender="teardown@example.com", tls="none")
    both = {"emails": ["ana@example.com", "bo@example.com"]}
    heard, failed = notices.tell(
        NOTICE, Receivers.of(both), topic=None, publish=lambda *_: None, send=lambda *_: None, mail=mail
    )
    assert (heard, failed) == (["e-mail"], ["e-mail: the server refused ana@example.com"])
    assert [to for to, _ in mail_server.letters] == [["bo@example.com"]]


def test_a_subject_is_one_that_sns_takes():
    long = Notice(stack="dev-ä" * 60, pool="", about="empty", text="")
    assert notices.subject(long).isascii()
    assert len(notices.subject(long)) < 100
