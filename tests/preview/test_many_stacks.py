"""Of many stacks a reviewer reads those that change; the others are one row, whose figures are in the sums."""

import pytest
from situations import ON, PROVENANCE, plain

from sizewell.preview.assemble import assemble
from sizewell.preview.diff import compare
from sizewell.preview.records import PolicyFinding, PolicyReport
from sizewell.preview.render import html, markdown, terminal

QUIET = [f"quiet-{number:02}" for number in range(20)]


def preview(*, changed=True):
    stacks = [compare(name, plain(name).side(), plain(name).side(), base="main@1a2b3c4") for name in QUIET]
    if changed:
        after = plain("loud", market="spot", price="4.19706").side()
        stacks.insert(7, compare("loud", plain("loud").side(), after, base="main@1a2b3c4"))
    return assemble(stacks, on=ON, provenance=PROVENANCE)


@pytest.mark.parametrize(
    "render", [markdown.render, lambda it: terminal.render(it, width=120)], ids=["comment", "terminal"]
)
def test_only_what_changes_is_told(render):
    text = render(preview())
    assert "loud" in text
    assert "20 stacks unchanged" in text
    assert not any(f"`{name}`" in text for name in QUIET)
    whole = 20 * compare("q", None, plain("q").side()).after.usd_per_month.expected
    assert f"{whole:,.2f}" in text
    assert len(text) < 9000


def test_a_change_of_nothing_keeps_the_sum_and_the_source_of_the_prices():
    text = markdown.render(preview(changed=False))
    assert "Run-rate unchanged" in text
    assert "20 stacks unchanged" in text
    assert "Prices: list, catalog 5f3c9a1be07d" in text


def test_without_a_base_every_stack_is_told_and_the_page_has_all_of_them():
    new = assemble([compare(name, None, plain(name).side()) for name in QUIET], on=ON, provenance=PROVENANCE)
    comment, page = markdown.render(new), html.render(preview())
    assert all(f"`{name}`" in comment for name in QUIET)
    assert all(name in page for name in QUIET)


def forty(rows=12, findings=8):
    """Forty stacks that change, each with many components and as many findings."""
    stacks = []
    for number in range(40):
        name = f"team-{number:02}-production-us-east-1"
        before, after = plain(name), plain(name, market="spot", price="4.19706")
        for row in range(rows):
            after = after.line(
                f"component-{row}",
                f"gp3 volume number {row} for the data of the team",
                "GB-month",
                "0.08",
                (100, 200, 400),
            )
        report = PolicyReport(
            passed=100,
            findings=tuple(
                PolicyFinding(
                    policy=f"rule-{index}", level="mandatory", component=f"component-{index}", resource=f"urn:{index}",
                    message=f"what is wrong with component {index} of {name}, in a sentence of usual length, as rules say it",
                    fix="the line that mends it",
                )
                for index in range(findings)
            ),
        )  # fmt: skip
        stacks.append(compare(name, before.side(), after.side(), base="main@1a2b3c4", policies=report))
    return assemble(stacks, on=ON, provenance=PROVENANCE)


@pytest.mark.parametrize(("rows", "findings"), [(2, 1), (12, 8), (30, 20)])
def test_of_forty_changed_stacks_the_cost_table_stays_and_findings_are_folded(rows, findings):
    preview = forty(rows, findings)
    comment = markdown.render(preview)
    assert len(comment) <= markdown.LIMIT
    assert len(comment.encode()) <= 1_000_000  # bytes of a note on GitLab
    table = [line for line in comment.splitlines() if line.startswith("| `team-")]
    assert len(table) == 40
    assert all(line.count("|") == 8 for line in table)
    first_screen = comment.partition("<details>")[0]
    assert first_screen.count("**Policy failed**") <= markdown.MOST_ROWS + 1
    assert f"{40 * findings} findings" in comment
    assert comment.count("<details>") == comment.count("</details>")
    assert comment.endswith(" warned -->\n")
