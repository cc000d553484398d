"""The two places where a comment can stand: GitHub pull requests and GitLab merge requests, over their HTTP APIs.

Only what a comment needs: list, create, update, delete, hide. Rate limits and passing failures are waited out within a
budget; what remains is a ServiceError in one sentence. The token is sent and never printed.
"""

from __future__ import annotations

import json
import logging
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import httpx

from sizewell.clouds.calls import Again, until_answered
from sizewell.clouds.connections import FAILURES, http_client
from sizewell.sizing.errors import ServiceError

LOG: Final = logging.getLogger(__name__)
_PASSING: Final = {429, 500, 502, 503, 504}
_PAGE: Final = 100
_MAINTAINER: Final = 40  # GitLab's number for that role; an owner has 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment as a forge has it. `node` is GitHub's other id, for hiding."""

    id: int
    body: str
    author: str
    edited: bool = False  # somebody has changed it since: perhaps not its author
    node: str = ""


class TooLongError(Exception):
    """The forge says that the text is too long for one comment."""


class NotAllowedError(Exception):
    """The token may not write here: a pull request from a fork."""


class Forge(Protocol):
    """What the comment step needs of a forge."""

    @property
    def author(self) -> str: ...
    def comments(self) -> Iterator[Comment]: ...
    def may_approve(self, author: str) -> bool: ...
    def create(self, body: str) -> None: ...
    def update(self, comment: Comment, body: str) -> None: ...
    def delete(self, comment: Comment) -> None: ...
    def hide(self, comment: Comment) -> None: ...
    def show(self, comment: Comment) -> None: ...


@dataclass(slots=True, kw_only=True)
class Http:
    """JSON over HTTP with retries. `wait_s_max` bounds all waiting of one run together."""

    base: str
    headers: Mapping[str, str]
    wait_s_max: float = 90.0
    sleep: Callable[[float], None] | None = None  # None: time.sleep
    now: Callable[[], float] = time.time
    _waited_s: float = field(default=0.0)
    _client: httpx.Client = field(default_factory=lambda: http_client(connections=1))

    def call(self, method: str, path: str, data: object = None) -> Any:
        """The decoded answer; raises TooLongError, NotAllowedError or ServiceError."""
        return until_answered(
            lambda number: self._attempt(number, method, path, data),
            lambda seconds: self._wait(seconds, f"{method} {path}"),
        )

    def _attempt(self, number: int, method: str, path: str, data: object) -> object | Again:
        try:
            answer = self._client.request(
                method,
                f"{self.base}{path}",
                content=None if data is None else json.dumps(data).encode(),
                headers={**self.headers, "Content-Type": "application/json"},
                timeout=30,
                follow_redirects=method == "GET",  # a repository that was renamed
            )
        except FAILURES as error:
            if number > 4:
                raise ServiceError(f"{self.base} cannot be reached: {error}") from None
            return Again(min(2.0**number, 20.0))
        LOG.info("%s %s%s: %d", method, self.base, path.partition("?")[0], answer.status_code)
        text = answer.content.decode("utf-8", "replace")
        if answer.is_success:
            return json.loads(text) if text else None
        wait_s = self._wait_s(answer.status_code, answer.headers, text[:2000], number)
        if wait_s is None:
            raise _refusal(answer.status_code, text[:2000], method, path)
        return Again(wait_s)

    def _wait(self, seconds: float, call: str) -> None:
        if self._waited_s + seconds > self.wait_s_max:
            after = f"next try in {seconds:.0f} s, waited {self._waited_s:.0f} s already"
            raise ServiceError(f"{call}: rate limited or failing, {after}")
        self._waited_s += seconds
        (self.sleep or time.sleep)(seconds)

    def _wait_s(self, status: int, headers: Mapping[str, str], text: str, attempt: int) -> float | None:
        """How long to wait before another try; None where another try would get the same answer."""
        limited = status == 429 or (
            status == 403 and (headers.get("x-ratelimit-remaining") == "0" or "rate limit" in text.lower())
        )
        if not limited and status not in _PASSING:
            return None
        if attempt > 6:
            return None
        after = headers.get("retry-after")
        if after and after.isdigit():
            return float(after)
        reset = headers.get("x-ratelimit-reset")
        if limited and reset and reset.isdigit():
            return max(float(reset) - self.now(), 0.0) + 1.0
        return min(2.0**attempt, 20.0)


def _refusal(status: int, text: str, method: str, path: str) -> Exception:
    if status in (400, 413, 422) and "too long" in text.lower():
        return TooLongError(text)
    if status in (401, 403) or (status == 404 and method != "GET"):
        return NotAllowedError(f"{method} {path}: status {status}")
    try:
        message = json.loads(text).get("message", "")
    except (ValueError, AttributeError):
        message = text[:200]
    return ServiceError(f"{method} {path}: status {status}: {message}")


class GitHub:
    """Comments of one pull request."""

    def __init__(self, http: Http, repository: str, number: int) -> None:
        self._http = http
        self._repository = "/".join(urllib.parse.quote(part, safe="") for part in repository.split("/"))
        self._number = number

    def comments(self) -> Iterator[Comment]:
        page = 1
        while True:
            path = f"/repos/{self._repository}/issues/{self._number}/comments?per_page={_PAGE}&page={page}"
            answer = self._http.call("GET", path) or []
            for each in answer:
                yield Comment(
                    id=int(each["id"]),
                    body=each.get("body") or "",
                    author=(each.get("user") or {}).get("login", ""),
                    edited=each.get("created_at") != each.get("updated_at"),
                    node=each.get("node_id", ""),
                )
            if len(answer) < _PAGE:
                return
            page += 1

    @property
    def author(self) -> str:
        """Under which name the token writes: a job's, a GitHub App's or a person's."""
        answer = self._http.call("POST", "/graphql", {"query": "query { viewer { login } }"})
        name = ((answer or {}).get("data") or {}).get("viewer") or {}
        return str(name.get("login") or "github-actions[bot]")

    def may_approve(self, author: str) -> bool:
        """Whether somebody may write to the repository."""
        path = f"/repos/{self._repository}/collaborators/{urllib.parse.quote(author, safe='')}/permission"
        try:
            rights = self._http.call("GET", path) or {}
        except (NotAllowedError, ServiceError):
            return False
        return rights.get("permission") in ("admin", "write")

    def create(self, body: str) -> None:
        self._http.call("POST", f"/repos/{self._repository}/issues/{self._number}/comments", {"body": body})

    def update(self, comment: Comment, body: str) -> None:
        self._http.call("PATCH", f"/repos/{self._repository}/issues/comments/{comment.id}", {"body": body})

    def delete(self, comment: Comment) -> None:
        self._http.call("DELETE", f"/repos/{self._repository}/issues/comments/{comment.id}")

    def hide(self, comment: Comment) -> None:
        self._minimize("minimizeComment(input: {subjectId: $id, classifier: OUTDATED})", comment)

    def show(self, comment: Comment) -> None:
        self._minimize("unminimizeComment(input: {subjectId: $id})", comment)

    def _minimize(self, mutation: str, comment: Comment) -> None:
        query = f"mutation($id: ID!) {{ {mutation} {{ clientMutationId }} }}"
        answer = self._http.call("POST", "/graphql", {"query": query, "variables": {"id": comment.node}})
        if isinstance(answer, dict) and answer.get("errors"):
            raise ServiceError(f"the comment cannot be hidden or shown: {answer['errors'][0].get('message', '')}")


class GitLab:
    """Notes of one merge request. GitLab cannot hide a note; what is hidden elsewhere stays, updated."""

    def __init__(self, http: Http, project: str, number: int) -> None:
        self._http = http
        self._project = f"/projects/{urllib.parse.quote(project, safe='')}"
        self._notes = f"{self._project}/merge_requests/{number}/notes"

    @property
    def author(self) -> str:
        """Under which name the token writes."""
        return str((self._http.call("GET", "/user") or {}).get("username", ""))

    def comments(self) -> Iterator[Comment]:
        page = 1
        while True:
            notes = self._http.call("GET", f"{self._notes}?sort=asc&per_page={_PAGE}&page={page}") or []
            for each in notes:
                yield Comment(
                    id=int(each["id"]),
                    body=each.get("body") or "",
                    author=(each.get("author") or {}).get("username", ""),
                    edited=each.get("created_at") != each.get("updated_at"),
                )
            if len(notes) < _PAGE:
                return
            page += 1

    def requester(self) -> str:
        """Who asks for the change, which need not be who runs the pipeline."""
        request = self._http.call("GET", self._notes.removesuffix("/notes"))
        return str(((request or {}).get("author") or {}).get("username", ""))

    def may_approve(self, author: str) -> bool:
        """Whether somebody is a maintainer or an owner of the project."""
        query = urllib.parse.urlencode({"query": author, "per_page": _PAGE})
        try:
            members = self._http.call("GET", f"{self._project}/members/all?{query}") or []
        except (NotAllowedError, ServiceError):
            return False
        return any(each.get("username") == author and each.get("access_level", 0) >= _MAINTAINER for each in members)

    def create(self, body: str) -> None:
        self._http.call("POST", self._notes, {"body": body})

    def update(self, comment: Comment, body: str) -> None:
        self._http.call("PUT", f"{self._notes}/{comment.id}", {"body": body})

    def delete(self, comment: Comment) -> None:
        self._http.call("DELETE", f"{self._notes}/{comment.id}")

    def hide(self, comment: Comment) -> None:
        """GitLab has no hiding."""

    def show(self, comment: Comment) -> None:
        """GitLab has no hiding."""
