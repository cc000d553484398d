"""Of many stacks a reviewer reads those that change; the others are one row, whose figures are in the sums."""

import pytest
from situations import ON, PROVENANCE, plain

from sizewell.preview.assemble import assemble
from sizewell.preview.diff import compare
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
