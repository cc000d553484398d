"""Asks the cloud of a stack: first who is logged in and where, since without that nothing else has an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.clients import CLIENTS
from sizewell.clouds.connections import http_client
from sizewell.clouds.preflight import aws, azure, gcp
from sizewell.clouds.preflight.findings import Finding, Question, ask, unasked
from sizewell.clouds.preflight.needs import Needs
from sizewell.clouds.preflight.pulls import charts_of, images_of, pulls
from sizewell.clouds.registry import Registries
from sizewell.sizing.providers.cloud import PerCloud


class Checks(Protocol):
    """What a cloud's module asks, with the cloud's own client."""

    def account(self, needs: Needs, client: Any, /) -> Iterator[Finding]: ...
    def questions(self, needs: Needs, client: Any, /) -> dict[str, Question]: ...


CHECKS: Final = PerCloud[Checks](aws=aws, gcp=gcp, azure=azure)


def preflight(
    needs: Needs,
    *,
    total_s: float = 60.0,
    timeouts: Timeouts | None = None,
    begun: Callable[[str], None] | None = None,
) -> list[Finding]:
    """Every finding about the stack, in a fixed order; `begun` is called with what is being asked."""
    try:
        client = CLIENTS[needs.cloud](Deadline(total_s), timeouts=timeouts)
    except CloudError as error:
        return [unasked("account", error)]
    cloud = CHECKS[needs.cloud]
    findings = ask({"account": lambda: cloud.account(needs, client)}, begun=begun)
    if any(finding.state == "wrong" for finding in findings):
        return findings
    questions = cloud.questions(needs, client)
    if images_of(needs) or charts_of(needs):
        limits = timeouts or Timeouts()
        registries = Registries(deadline=client.deadline, http=http_client(), timeouts=limits)
        questions["images and charts"] = lambda: pulls(needs, registries)
    return findings + ask(questions, begun=begun)
