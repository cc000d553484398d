"""The comment step of CI: put the preview into the pull request, in place, and keep quiet where nobody would miss it.

    python -m sizewell.preview.comment post --repository OWNER/NAME --number 7 --body comment.md
    python -m sizewell.preview.comment reason --repository OWNER/NAME --number 7 --commit SHA --requested-by ANN

The token comes from GITHUB_TOKEN (GitHub) or SIZEWELL_GITLAB_TOKEN (GitLab, with --forge gitlab). Without one, or where
--read-only says that it may not write, as on a pull request from a fork, nothing is commented and nothing fails: the
preview is in the job's summary all the same. Any other refusal is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sizewell.preview.forges import Comment, Forge, GitHub, GitLab, Http, NotAllowedError, TooLongError
from sizewell.sizing.errors import ServiceError, SizewellError, UsageError


class NoTokenError(Exception):
    """There is nothing to write with."""


MARKER: Final = re.compile(
    r"<!-- sizewell:stacks?=[^>]*?(?: project=(?P<project>[^ >]+))?(?P<warned> warned)? -->\s*\Z"
)
UNBLOCK: Final = re.compile(r"^/sizewell unblock (?P<commit>[0-9a-f]{7,40}) (?P<reason>\S.{3,300})$", re.MULTILINE)
SETTLED: Final = "The change that this comment warned about is no longer in this pull request."
SHORT: Final = 2_000  # characters that are tried where a forge calls the whole too long


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do to one comment."""

    do: Literal["create", "update", "show", "hide", "delete"]
    comment: Comment | None = None


def steps_for(comments: Iterable[Comment], body: str, author: str) -> tuple[Step, ...]:
    """What to do about the comments that stand. Pure.

    A preview that warns is created or updated in place. One that does not is not worth a comment: an old one that
    never warned is deleted, one that did is updated, so that its reader sees the change of mind, and hidden.
    """
    ours = [comment for comment in comments if comment.author == author and _same_project(comment.body, body)]
    warns = _warned(body)
    first, rest = (ours[0], ours[1:]) if ours else (None, [])
    steps = [Step("delete", comment) for comment in rest]
    if first is None:
        return (*steps, Step("create")) if warns else tuple(steps)
    if warns:
        shown = [] if _warned(first.body) else [Step("show", first)]
        return (*steps, Step("update", first), *shown)
    if _warned(first.body):
        return (*steps, Step("update", first), Step("hide", first))
    return tuple(steps) if SETTLED in first.body else (*steps, Step("delete", first))


def _same_project(stands: str, body: str) -> bool:
    """Whether a comment is of the project of `body`; one of an older release does not say which."""
    old, new = MARKER.search(stands), MARKER.search(body)
    return old is not None and new is not None and old["project"] in (None, new["project"])


def _warned(body: str) -> bool:
    match = MARKER.search(body)
    return match is not None and match["warned"] is not None


def settled(body: str) -> str:
    """The text of a comment whose warning no longer holds: short, and the same marker without the warning."""
    match = MARKER.search(body)
    marker = match[0].strip() if match else "<!-- sizewell:stack= -->"
    head = body.partition("\n")[0]
    return f"{head}\n\n{SETTLED}\n\n{marker}\n"


def shortened(body: str) -> str:
    """What comes before the first fold, cut at a line, with the marker kept."""
    match = MARKER.search(body)
    marker = match[0].strip() if match else ""
    head = body.partition("<details>")[0].rstrip()
    if len(head) > SHORT:
        head = head[:SHORT].rpartition("\n")[0]
    return f"{head}\n\nLeft out: too long for one comment; the whole preview is in the job's summary.\n\n{marker}\n"


def post(forge: Forge, body: str) -> tuple[Step, ...]:
    """Bring the forge's comments in line with `body`; returns what was done."""
    standing = [comment for comment in forge.comments() if MARKER.search(comment.body)]
    steps = steps_for(standing, body, forge.author if standing else "")
    text = body if _warned(body) else settled(body)
    for step in steps:
        if step.do in ("create", "update"):
            try:
                _write(forge, step, text)
            except TooLongError:
                _write(forge, step, shortened(text))
        elif step.comment is not None:
            {"show": forge.show, "hide": forge.hide, "delete": forge.delete}[step.do](step.comment)
    return steps


def _write(forge: Forge, step: Step, text: str) -> None:
    if step.comment is None:
        forge.create(text)
    else:
        forge.update(step.comment, text)


def reason_of(
    comments: Iterable[Comment], *, commit: str, requested_by: Collection[str], may_approve: Callable[[str], bool]
) -> str:
    """The last reason that somebody gave to let this commit pass, with the name; "" where nobody did.

    A comment with the line `/sizewell unblock COMMIT REASON` is the record. It holds for that commit alone, is given by
    somebody with the right to, who is not whoever asks for the change, and counts as it was written: an edited one may
    have another author.
    """
    reason = ""
    for comment in comments:
        match = UNBLOCK.search(comment.body.replace("\r", ""))
        if match is None or comment.edited or not commit.startswith(match["commit"]):
            continue
        if comment.author and comment.author not in requested_by and may_approve(comment.author):
            reason = f"{match['reason'].strip()} ({comment.author}, for {commit[:7]})"
    return reason


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; 0 also where a token is not meant to write, 69 where the forge refuses or fails."""
    parser = argparse.ArgumentParser(prog="python -m sizewell.preview.comment", description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=("post", "reason"))
    parser.add_argument("--forge", choices=("github", "gitlab"), default="github")
    parser.add_argument("--repository", required=True, help="OWNER/NAME, or GitLab's project id or path")
    parser.add_argument("--number", required=True, type=int, help="of the pull or merge request")
    parser.add_argument("--body", type=Path, help="the comment, as `sizewell preview --format markdown` wrote it")
    parser.add_argument("--read-only", action="store_true", help="the token may not write, as on a fork's pull request")
    parser.add_argument(
        "--commit", default="", help="the newest commit of the pull request, which an approval applies to"
    )
    parser.add_argument("--requested-by", default="", help="the author of the pull request, who cannot approve it")
    args = parser.parse_args(arguments)
    try:
        return _run(args)
    except NoTokenError:
        print(
            "no comment: there is no token; the job's summary (GitHub) or artifact (GitLab) has the preview",
            file=sys.stderr,
        )
        return 0
    except NotAllowedError as error:
        if args.read_only:
            print(f"no comment: the token may not write to this pull request ({error})", file=sys.stderr)
            return 0
        print(
            f"sizewell: the comment was refused ({error})\n"
            "  fix: give the job `pull-requests: write` (GitHub), or the token the scope `api` (GitLab)",
            file=sys.stderr,
        )
        return ServiceError.exit_code
    except SizewellError as error:
        print(f"sizewell: {error}", file=sys.stderr)
        return error.exit_code


def _run(args: argparse.Namespace) -> int:
    forge = _forge(args)
    if args.action == "reason":
        if not args.commit:
            raise UsageError("reason needs --commit SHA: an approval applies to one commit")
        print(
            reason_of(
                forge.comments(),
                commit=args.commit,
                requested_by={args.requested_by} | ({forge.requester()} if isinstance(forge, GitLab) else set()),
                may_approve=forge.may_approve,
            )
        )
        return 0
    if args.body is None:
        raise UsageError("post needs --body FILE")
    try:
        body = args.body.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{args.body}: cannot be read: {error.strerror}") from None
    if not MARKER.search(body):
        raise UsageError(f"{args.body}: not a comment of sizewell preview: its last line has no marker")
    steps = post(forge, body)
    print(", ".join(step.do for step in steps) or "nothing to do", file=sys.stderr)
    return 0


def _forge(args: argparse.Namespace) -> GitHub | GitLab:
    if args.forge == "gitlab":
        token = os.environ.get("SIZEWELL_GITLAB_TOKEN", "")
        base = os.environ.get("CI_API_V4_URL", "https://gitlab.com/api/v4")
        headers = {"PRIVATE-TOKEN": token}
    else:
        token = os.environ.get("GITHUB_TOKEN", "")
        base = os.environ.get("GITHUB_API_URL", "https://api.github.com")
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    if not token:
        raise NoTokenError
    if not base.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise ServiceError(f"{base}: the token is sent over https only")
    http = Http(base=base.rstrip("/"), headers=headers)
    if args.forge == "gitlab":
        return GitLab(http, args.repository, args.number)
    return GitHub(http, args.repository, args.number)


if __name__ == "__main__":
    sys.exit(main())
