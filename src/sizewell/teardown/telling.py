"""How a notice or a message reaches people: the receivers of a stack, and the operators of teardown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sizewell.sizing.errors import ServiceError, SizewellError
from sizewell.teardown import act
from sizewell.teardown.backend import Backend
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.notices import Notice, Receivers, Topic, tell, topic_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """Delivers; who heard has a name that tells no address."""

    backend: Backend
    config: TeardownConfig
    fresh: Callable[[], StatusReader]
    send: Callable[[str, Mapping[str, Any]], None]

    def receivers(self, stack: str) -> Receivers:
        """The receivers of a stack. ServiceError where its configuration cannot be read."""
        return Receivers.of(self.backend.configuration(stack).get("sizewell:notify"))

    def to_owner(self, stack: str, notice: Notice) -> tuple[list[str], list[str]]:
        """Tell the receivers of a stack: who heard, and what failed."""
        reader = self.fresh()

        def publish(topic: Topic, subject: str, message: str) -> Topic:
            return act.publish(reader.cloud(topic.cloud, stack), topic, subject, message)

        return tell(
            notice,
            self.receivers(stack),
            topic=self._topic(reader, stack),
            publish=publish,
            send=self.send,
            mail=self.config.mail,
        )

    def to_anybody(self, notice: Notice) -> tuple[list[str], list[str]]:
        """Tell the receivers of a stack; where none of them takes it, or it concerns no stack, the operators."""
        heard: list[str] = []
        failed: list[str] = []
        if notice.stack:
            try:
                heard, failed = self.to_owner(notice.stack, notice)
            except SizewellError as error:
                failed = [str(error).partition("\n")[0]]
        if heard:
            return heard, failed
        try:
            operators = self._operators()
        except ServiceError as error:
            return [], [*failed, str(error).partition("\n")[0]]

        def never(*_: object) -> Topic:
            raise ServiceError("operators have no topic")

        more, also = tell(notice, operators, topic=None, publish=never, send=self.send, mail=self.config.mail)
        return [f"operators: {each}" for each in more], [*failed, *also]

    def _operators(self) -> Receivers:
        """ServiceError where a variable with an address is not set."""
        named = self.config.operators
        unset = [name for name in (*named.webhooks_env, *named.pagerduty_env) if not os.environ.get(name)]
        if unset:
            raise ServiceError(
                f"{unset[0]} is not set\n  fix: set it to the address that `operators` in teardown.yaml stands for"
            )
        return Receivers(
            emails=named.emails,
            webhooks=tuple(os.environ[name] for name in named.webhooks_env),
            pagerduty=tuple(os.environ[name] for name in named.pagerduty_env),
        )

    def _topic(self, reader: StatusReader, stack: str) -> Topic | None:
        """The stack's own topic, which has its receivers; None where it has none, or its state cannot be read."""
        try:
            listed = {each.name: each for each in self.backend.stacks()}
            return topic_of(reader.state(listed[stack]))
        except (SizewellError, KeyError):
            return None
