"""The comment step against a local stand-in of the forge."""

import re

import pytest
from github_standin import StandIn, served
from situations import SITUATIONS, Sketch, one, plain

from sizewell.preview import comment
from sizewell.preview.comment import MARKER, main, reason_of, shortened, steps_for
from sizewell.preview.forges import Comment, GitHub, Http
from sizewell.preview.render import markdown
from sizewell.sizing.errors import ServiceError

BOT = "github-actions[bot]"
WARNS = markdown.render(SITUATIONS["purchase"]())
QUIET = markdown.render(SITUATIONS["nothing_changed"]())


@pytest.fixture
def github(monkeypatch, tmp_path):
    standin = StandIn()
    with served(standin) as base:
        monkeypatch.setenv("GITHUB_API_URL", base)
        monkeypatch.setenv("GITHUB_TOKEN", standin.token)
        monkeypatch.setattr("time.sleep", lambda _: None)

        def post(body, *more):
            path = tmp_path / "body.md"
            path.write_text(body, encoding="utf-8")
            return main(["post", "--repository", "o/r", "--number", "7", "--body", str(path), *more])

        standin.post = post
        standin.base = base
        yield standin


def ours(standin):
    return [each for each in standin.comments.values() if each["user"]["login"] == BOT]


def test_a_warning_is_created_and_updated_in_place(github):
    github.put("a person's remark", login="ann")
    assert github.post(WARNS) == 0
    assert [each["body"] for each in ours(github)] == [WARNS]
    changed = WARNS.replace("9,062", "9,100")
    assert github.post(changed) == 0
    assert [each["body"] for each in ours(github)] == [changed]
    assert len(github.comments) == 2


def test_nothing_to_say_says_nothing(github):
    assert github.post(QUIET) == 0
    assert github.comments == {}
    assert {method for method, _ in github.calls} == {"GET"}


def test_a_warning_that_no_longer_holds_is_told_and_hidden_and_shown_again(github):
    github.post(WARNS)
    github.post(QUIET)
    (only,) = ours(github)
    assert only["minimized"]
    assert "no longer in this pull request" in only["body"]
    assert MARKER.search(only["body"])
    calls = len(github.calls)
    github.post(QUIET)
    assert [method for method, path in github.calls[calls:] if path != "/graphql"] == ["GET"]  # nothing more to say
    github.post(WARNS)
    (only,) = ours(github)
    assert not only["minimized"]
    assert only["body"] == WARNS


def test_an_old_comment_that_never_warned_is_deleted(github):
    github.put(QUIET)
    github.post(QUIET)
    assert github.comments == {}


def test_one_comment_per_repository_also_after_a_race(github):
    first, _ = github.put(WARNS), github.put(WARNS)
    github.post(WARNS)
    assert list(github.comments) == [first]


def test_a_comment_of_somebody_else_is_never_touched(github):
    github.put(WARNS, login="mallory")
    github.put("quoting: <!-- sizewell:stack=x -->\nnot at the end", login=BOT)
    github.post(WARNS)
    assert len(github.comments) == 3
    assert all(method in ("GET", "POST") for method, _ in github.calls)


def test_more_comments_than_a_page(github):
    for number in range(230):
        github.put(f"remark {number}", login="ann")
    mine = github.put(WARNS)
    github.post(WARNS.replace("9,062", "9,100"))
    assert "9,100" in github.comments[mine]["body"]
    assert len(github.comments) == 231


def test_too_long_for_the_forge_keeps_the_first_screen(github):
    github.limit = 3000
    assert len(WARNS) > github.limit
    assert github.post(WARNS) == 0
    (only,) = ours(github)
    assert len(only["body"]) <= github.limit
    assert "Run-rate -$83,666/month" in only["body"]
    assert "Left out: too long" in only["body"]
    assert MARKER.search(only["body"])["warned"]
    github.post(WARNS)  # found again, and updated in place
    assert len(github.comments) == 1


def test_the_longest_preview_fits_as_it_is(github):
    assert github.post(markdown.render(SITUATIONS["too_long"]())) == 0
    assert "Left out" not in ours(github)[0]["body"]


@pytest.mark.parametrize(
    "answer",
    [
        (429, {"Retry-After": "7"}, {"message": "slow down"}),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "0"}, {"message": "API rate limit exceeded"}),
        (403, {}, {"message": "You have exceeded a secondary rate limit"}),
        (502, {}, {"message": "bad gateway"}),
    ],
)
def test_rate_limits_and_passing_failures_are_waited_out(github, answer):
    github.answers = [answer, answer]
    assert github.post(WARNS) == 0
    assert [each["body"] for each in ours(github)] == [WARNS]


def test_a_limit_that_outlasts_patience_is_one_sentence(github, capsys):
    github.answers = [(429, {"Retry-After": "3600"}, {"message": "slow down"})]
    assert github.post(WARNS) == 69
    said = capsys.readouterr().err
    assert "rate limited or failing, next try in 3600 s" in said
    assert github.token not in said


def test_waiting_follows_what_the_forge_says(github):
    slept = []
    http = Http(
        base=github.base, headers={"Authorization": f"Bearer {github.token}"}, sleep=slept.append, now=lambda: 1000.0
    )
    github.answers = [
        (429, {"Retry-After": "7"}, {}),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030"}, {}),
    ]
    GitHub(http, "o/r", 7).create("x")
    assert slept == [7.0, 31.0]


def test_a_forge_that_is_not_there(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setattr("time.sleep", lambda _: None)
    path = tmp_path / "b.md"
    path.write_text(WARNS)
    assert main(["post", "--repository", "o/r", "--number", "7", "--body", str(path)]) == 69
    assert "cannot be reached" in capsys.readouterr().err


def test_a_pull_request_from_a_fork_gets_no_comment_and_no_failure(github, capsys, monkeypatch):
    github.read_only = True
    assert github.post(WARNS, "--read-only") == 0
    assert "may not write" in capsys.readouterr().err
    monkeypatch.delenv("GITHUB_TOKEN")
    assert github.post(WARNS) == 0
    assert "no token" in capsys.readouterr().err


def test_a_refusal_of_a_token_that_should_write_is_never_green(github, capsys):
    github.read_only = True
    assert github.post(WARNS) == 69
    told = capsys.readouterr().err
    assert "the comment was refused" in told
    assert "pull-requests: write" in told


def test_the_token_goes_over_https_only(monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_API_URL", "http://evil.example")
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    assert main(REASON) == 69
    assert "https only" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "says"), [("hello", "no marker"), (None, "cannot be read")])
def test_a_body_that_is_not_one(github, tmp_path, capsys, text, says):
    path = tmp_path / "x.md"
    if text is not None:
        path.write_text(text)
    assert main(["post", "--repository", "o/r", "--number", "7", "--body", str(path)]) == 64
    assert says in capsys.readouterr().err


NAMES = ["a|b`c", "@octocat", "<!-- sizewell:stack=x warned -->", "</details>", "[x](https://evil.test)", "#1"]


@pytest.mark.parametrize("name", NAMES)
def test_names_with_markdown_reach_the_forge_as_names(github, name):
    sketch = Sketch(name).resource("aws:ebs/volume:Volume", name, inputs={"size": 1})
    sketch.line(name, name, "GB-month", "0.08", (0, 1000, 1000))
    body = markdown.render(one(plain(), sketch, stack=name))
    assert github.post(body) == 0
    stored = ours(github)[0]["body"]
    assert stored == body
    assert len(re.findall(r"^<!-- sizewell:stack", stored, re.MULTILINE)) == 1
    assert github.post(body) == 0
    assert len(ours(github)) == 1


COMMIT = "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d"


def written(body, author="ann", *, edited=False):
    return Comment(id=1, body=body, author=author, edited=edited)


@pytest.mark.parametrize(
    ("comments", "reason"),
    [
        ([], ""),
        ([written("/sizewell unblock 1a2b3c4 release week, agreed")], "release week, agreed (ann, for 1a2b3c4)"),
        ([written("fine\r\n/sizewell unblock 1a2b3c4 release week\r\nthanks")], "release week (ann, for 1a2b3c4)"),
        ([written("/sizewell unblock release week")], ""),  # for which commit?
        ([written("/sizewell unblock 9a2b3c4 release week")], ""),  # for another one
        ([written("/sizewell unblock 1a2b3c4 release week", "eve")], ""),  # who may only read
        ([written("/sizewell unblock 1a2b3c4 release week", "mallory")], ""),  # who asks for the change
        ([written("/sizewell unblock 1a2b3c4 release week", edited=True)], ""),  # by whom?
        ([written("/sizewell unblock 1a2b3c4")], ""),
        ([written("> /sizewell unblock 1a2b3c4 quoted only")], ""),
        (
            [written("/sizewell unblock 1a2b3c4 first"), written("/sizewell unblock 1a2b3c4 second", "bo")],
            "second (bo, for 1a2b3c4)",
        ),
    ],
)
def test_an_approval_holds_for_one_commit_by_one_person_with_the_right_to_give_it(comments, reason):
    may = {"ann", "bo", "mallory"}
    assert reason_of(comments, commit=COMMIT, requested_by={"mallory"}, may_approve=may.__contains__) == reason


REASON = ["reason", "--repository", "o/r", "--number", "7", "--commit", COMMIT, "--requested-by", "mallory"]


def test_the_reason_from_the_forge(github, capsys):
    github.permissions["mallory"] = "write"
    github.put("/sizewell unblock 1a2b3c4 quarter end", login="ann")
    github.put("/sizewell unblock 1a2b3c4 because I say so", login="mallory")
    github.put("/sizewell unblock 1a2b3c4 because I may read", login="eve")
    assert main(REASON) == 0
    assert capsys.readouterr().out == "quarter end (ann, for 1a2b3c4)\n"
    assert main(["reason", "--repository", "o/r", "--number", "7"]) == 64  # for which commit?


def test_the_token_of_an_app_finds_its_own_comment_again(github):
    github.viewer = "costs-of-acme[bot]"
    assert github.post(WARNS) == 0
    assert github.post(WARNS.replace("9,062", "9,100")) == 0
    (only,) = github.comments.values()
    assert only["user"]["login"] == github.viewer
    assert "9,100" in only["body"]


def test_each_project_of_a_repository_has_its_comment(github):
    assert " project=" in WARNS
    other = re.sub(r" project=\S+", " project=other", WARNS)
    for body in (WARNS, other, WARNS, other):
        assert github.post(body) == 0
    assert sorted(each["body"] for each in ours(github)) == sorted([WARNS, other])
    github.post(re.sub(r" project=\S+", " project=other", QUIET))
    assert [each["body"] for each in ours(github) if not each["minimized"]] == [WARNS]


def test_a_comment_of_an_older_release_is_taken_over(github):
    github.put(re.sub(r" project=\S+", "", WARNS))
    github.post(WARNS)
    assert [each["body"] for each in github.comments.values()] == [WARNS]


def test_steps_are_the_same_for_the_same_comments():
    comments = [Comment(id=1, body=WARNS, author=BOT), Comment(id=2, body=QUIET, author=BOT)]
    assert steps_for(comments, WARNS, BOT) == steps_for(list(comments), WARNS, BOT)
    assert [step.do for step in steps_for(comments, WARNS, BOT)] == ["delete", "update"]


def test_the_short_form_is_short():
    assert len(shortened(markdown.render(SITUATIONS["too_long"]()))) < comment.SHORT + 500


class GitLabStandIn(StandIn):
    """Notes of a merge request under GitLab's paths."""

    def handle(self, method, path, data, headers):
        if headers.get("PRIVATE-TOKEN") != self.token:
            return 401, {}, {"message": "401 Unauthorized"}
        if path == "/user":
            return 200, {}, {"username": BOT}
        if path.startswith("/projects/group%2Fname/members/all?"):
            levels = {"ann": 40, "eve": 30, "bob": 40}
            return 200, {}, [{"username": name, "access_level": level} for name, level in levels.items()]
        if method == "PUT":
            method = "PATCH"
        if path == "/projects/group%2Fname/merge_requests/7":
            return 200, {}, {"author": {"username": "bob"}}
        route = path.replace("/projects/group%2Fname/merge_requests/7/notes/", "/repos/o/r/issues/comments/")
        route = route.replace("/projects/group%2Fname/merge_requests/7/notes", "/repos/o/r/issues/7/comments")
        assert route != path, path
        answer = super().handle(method, route, data, {"Authorization": f"Bearer {self.token}"})
        if isinstance(answer[2], list):
            notes = [
                {"id": e["id"], "body": e["body"], "author": {"username": e["user"]["login"]},
                 "created_at": e["created_at"], "updated_at": e["updated_at"]}
                for e in answer[2]
            ]  # fmt: skip
            return answer[0], answer[1], notes
        return answer


def test_gitlab(monkeypatch, tmp_path):
    standin = GitLabStandIn()
    path = tmp_path / "b.md"
    call = ["post", "--forge", "gitlab", "--repository", "group/name", "--number", "7", "--body", str(path)]
    with served(standin) as base:
        monkeypatch.setenv("CI_API_V4_URL", base)
        monkeypatch.setenv("SIZEWELL_GITLAB_TOKEN", standin.token)
        for body, texts in ((WARNS, [WARNS]), (WARNS + "", [WARNS]), (QUIET, ["no longer"])):
            path.write_text(body)
            assert main(call) == 0
            assert len(standin.comments) == len(texts)
            for stored, text in zip(standin.comments.values(), texts, strict=True):
                assert text in stored["body"]


@pytest.mark.parametrize(("login", "reason"), [("ann", "release week (ann, for 1a2b3c4)"), ("eve", ""), ("bob", "")])
def test_gitlab_asks_maintainers(monkeypatch, capsys, login, reason):
    standin = GitLabStandIn()
    standin.put("/sizewell unblock 1a2b3c4 release week", login=login)
    with served(standin) as base:
        monkeypatch.setenv("CI_API_V4_URL", base)
        monkeypatch.setenv("SIZEWELL_GITLAB_TOKEN", standin.token)
        assert main([*REASON, "--forge", "gitlab", "--repository", "group/name"]) == 0
    assert capsys.readouterr().out == f"{reason}\n"


def test_a_node_that_is_gone_is_one_sentence(github):
    http = Http(base=github.base, headers={"Authorization": f"Bearer {github.token}"})
    with pytest.raises(ServiceError, match="cannot be hidden or shown"):
        GitHub(http, "o/r", 7).hide(Comment(id=9, body="", author="", node="IC_9"))
