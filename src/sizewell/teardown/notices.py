"""Who hears of a step, and by which way: the receivers of `sizewell:notify`.

A stack on AWS has topics with a subscription for each receiver: one message to one of them reaches all, each in the
form that it takes. Elsewhere webhooks and PagerDuty are posted to, and e-mail goes through the server that
`teardown.yaml` names: an action group of Azure and a notification channel of Google send what their own alerts say and
no text of a caller's (Azure's `createNotifications` sends a sample of a kind of alert,
learn.microsoft.com/powershell/module/az.monitor/test-azactiongroup).
"""

from __future__ import annotations

import json
import logging
import os
import smtplib
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any, Final

from sizewell.clouds.connections import FAILURES, http_client
from sizewell.recording.sources.state import State
from sizewell.sizing.errors import ServiceError
from sizewell.sizing.providers import CLOUDS
from sizewell.teardown.config import Mail

LOG: Final = logging.getLogger(__name__)
PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"  # developer.pagerduty.com/docs/send-alert-event
_TOPIC, _SUBSCRIPTION = "aws:sns/topic:Topic", "aws:sns/topicSubscription:TopicSubscription"
_SUBJECT_MAX: Final = 99  # docs.aws.amazon.com/sns/latest/api/API_Publish.html: fewer than 100 characters of ASCII


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One step of one stack or pool (`pool` "" for the stack), and the text for its owner."""

    stack: str
    pool: str
    about: str  # the step: an owner hears of each once
    text: str
    calm: bool = False  # nothing is asked of anybody: no alarm

    @property
    def key(self) -> str:
        """What tells one step from every other."""
        return " ".join(part for part in ("sizewell", self.stack, self.pool, self.about) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receivers:
    """Who is to hear: `sizewell:notify` of a stack."""

    emails: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    pagerduty: tuple[str, ...] = ()

    @classmethod
    def of(cls, stated: object) -> Receivers:
        """The receivers that a configuration names; none where it names none.

        >>> Receivers.of({"emails": ["ana@example.com"]}).count, Receivers.of(None).count
        (1, 0)
        """
        named = stated if isinstance(stated, Mapping) else {}
        return cls(**{kind: tuple(map(str, named.get(kind) or ())) for kind in ("emails", "webhooks", "pagerduty")})

    @property
    def count(self) -> int:
        return len(self.emails) + len(self.webhooks) + len(self.pagerduty)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of a stack, and who is subscribed to it."""

    arn: str
    emails: frozenset[str]
    hooks: int  # webhooks and PagerDuty together; their addresses are secrets of the state

    @property
    def region(self) -> str:
        return self.arn.split(":")[3]

    @property
    def cloud(self) -> str:
        """The one whose topics these are."""
        return next(name for name, cloud in CLOUDS.items() if _TOPIC.startswith(f"{cloud.provider.package}:"))


def topic_of(state: State) -> Topic | None:
    """The topic of a state with the most subscriptions; None where there is none."""
    topics: dict[str, Topic] = {}
    arns = {str(resource.id) for resource in state.resources if resource.type == _TOPIC and not resource.delete}
    for resource in state.resources:
        arn = str(resource.inputs.get("topic") or "")
        if resource.type != _SUBSCRIPTION or resource.delete or arn not in arns:
            continue
        topic = topics.get(arn, Topic(arn=arn, emails=frozenset(), hooks=0))
        is_email = resource.inputs.get("protocol") == "email"
        topics[arn] = Topic(
            arn=arn,
            emails=topic.emails | ({str(resource.inputs.get("endpoint"))} if is_email else frozenset()),
            hooks=topic.hooks + (not is_email),
        )
    return max(topics.values(), key=lambda topic: (len(topic.emails) + topic.hooks, topic.arn), default=None)


def tell(
    notice: Notice,
    receivers: Receivers,
    *,
    topic: Topic | None,
    publish: Callable[[Topic, str, str], Topic],
    send: Callable[[str, Mapping[str, Any]], None],
    mail: Mail | None,
) -> tuple[list[str], list[str]]:
    """Tell every receiver of one step; who heard, by a name that tells no address, and what failed.

    A receiver may hear twice where a topic has not the subscriptions that the configuration names today; none is left
    out.
    """
    heard: list[str] = []
    failed: list[str] = []

    def attempt(who: str, call: Callable[[], None]) -> bool:
        try:
            call()
        except ServiceError as error:
            failed.append(f"{who}: {str(error).partition(chr(10))[0]}")
            return False
        heard.append(who)
        return True

    subscribed: Topic | None = None
    if topic is not None:
        own = topic
        name = f"topic {own.arn.rpartition(':')[2]}"
        reached: list[Topic] = []
        if attempt(name, lambda: reached.append(publish(own, subject(notice), message(notice)))):
            (subscribed,) = reached
    emails = [email for email in receivers.emails if subscribed is None or email not in subscribed.emails]
    hooks = len(receivers.webhooks) + len(receivers.pagerduty)
    if subscribed is None or subscribed.hooks != hooks:
        for number, address in enumerate(receivers.webhooks):
            body = {"text": notice.text, "stack": notice.stack, "pool": notice.pool}
            attempt(f"webhook {number}", lambda address=address, body=body: send(address, body))  # type: ignore[misc]
        for number, key in enumerate(receivers.pagerduty):
            attempt(f"PagerDuty {number}", lambda key=key: send(PAGERDUTY, event(notice, key)))  # type: ignore[misc]
    if emails:
        refused: list[str] = []
        attempt("e-mail", lambda: refused.extend(_mailed(mail, emails, notice)))
        if refused:  # the others have it: it is heard, and not sent to them again
            failed.append(f"e-mail: the server refused {', '.join(refused)}")
    return heard, failed


def subject(notice: Notice) -> str:
    """A subject as SNS takes it. PagerDuty reads a message of a topic as an alarm's where it begins with `ALARM: `
    (cetinich.net/content/2022/cloudwatch-pagerduty-sns; PagerDuty documents no form).
    """
    key = notice.key if notice.calm else f"ALARM: {notice.key}"
    return key.encode("ascii", "replace").decode()[:_SUBJECT_MAX]


def message(notice: Notice) -> str:
    """What a topic sends: to people the text, to machines a document that PagerDuty reads as an alarm's."""
    document = {
        "AlarmName": notice.key,
        "AlarmDescription": notice.text,
        "NewStateValue": "OK" if notice.calm else "ALARM",
        "NewStateReason": notice.text,
        "text": notice.text,
        "stack": notice.stack,
        "pool": notice.pool,
    }
    return json.dumps({"default": notice.text, "email": notice.text, "https": json.dumps(document)})


def event(notice: Notice, key: str) -> dict[str, Any]:
    """An event as PagerDuty's Events API v2 takes it; a second one of the same step is the same alert."""
    return {
        "routing_key": key,
        "event_action": "trigger",
        "dedup_key": notice.key,
        "payload": {
            "summary": notice.text[:1024],
            "source": notice.stack,
            "severity": "info" if notice.calm else "warning",
            "component": notice.pool or notice.stack,
            "custom_details": {"text": notice.text, "step": notice.about},
        },
    }


def post(url: str, body: Mapping[str, Any]) -> None:
    """Post a notice to a webhook. ServiceError where nobody takes it; the address itself is a secret and left out."""
    try:
        with http_client(connections=1) as http:
            answer = http.post(url, json=dict(body), timeout=10.0)
        LOG.info("posted a notice: %d", answer.status_code)  # not to which address: it is a secret
    except FAILURES as error:
        raise ServiceError(f"it does not respond ({type(error).__name__})") from None
    if not 200 <= answer.status_code < 300:
        raise ServiceError(f"it responded with status {answer.status_code}")


def _mailed(mail: Mail | None, emails: Sequence[str], notice: Notice) -> list[str]:
    """Send one message to all addresses; those that the server refused while it took the others. ServiceError where
    there is no server, or it took none.
    """
    if mail is None:
        raise ServiceError(
            "the stack has no topic to which these addresses have confirmed a subscription, and "
            "stacks/config/teardown.yaml has no mail server\n"
            "  fix: follow the link that SNS sent, name a server under `mail:`, or a webhook under sizewell:notify"
        )
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = mail.sender, ", ".join(emails), notice.key
    letter.set_content(notice.text)
    password = os.environ.get(mail.password_env, "") if mail.password_env else ""
    if mail.password_env and not password:
        raise ServiceError(f"{mail.password_env} is not set\n  fix: set it to the password of {mail.user}")
    context = ssl.create_default_context()
    try:
        with (
            smtplib.SMTP_SSL(mail.host, mail.port, timeout=20, context=context)
            if mail.tls == "implicit"
            else smtplib.SMTP(mail.host, mail.port, timeout=20)
        ) as server:
            if mail.tls == "starttls":
                server.starttls(context=context)
            if mail.user:
                server.login(mail.user, password)
            return list(server.send_message(letter))
    except smtplib.SMTPNotSupportedError as error:
        stated = "`tls: implicit` (465) or `tls: none`" if mail.tls == "starttls" else "another server"
        raise ServiceError(f"{mail.host}:{mail.port} cannot ({error}); state {stated} under mail:") from None
    except smtplib.SMTPAuthenticationError:
        raise ServiceError(f"{mail.host}:{mail.port} refused the login of {mail.user!r}") from None
    except smtplib.SMTPRecipientsRefused as error:
        raise ServiceError(f"{mail.host}:{mail.port} refused {', '.join(error.recipients)}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise ServiceError(f"{mail.host}:{mail.port} refused it: {type(error).__name__}") from None
