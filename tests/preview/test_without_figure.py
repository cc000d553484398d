"""A stack whose program fails has no figure: no form prints a zero for it, and the others keep theirs."""

import csv
import io
import json

import pytest
from situations import ON, PROVENANCE, plain

from sizewell.preview.assemble import assemble, failed_stack
from sizewell.preview.diff import compare
from sizewell.preview.render import focus, html, markdown, terminal
from sizewell.preview.render import json as as_json

WHY = "the program failed in __main__.py, line 3: KeyError: 'size'"


def preview(*names):
    stacks = [failed_stack("broken", "petsnap", WHY), *(compare(name, None, plain(name).side()) for name in names)]
    return assemble(stacks, on=ON, provenance=PROVENANCE)


FORMS = {
    "terminal": lambda it: terminal.render(it, width=200),
    "markdown": markdown.render,
    "html": html.render,
}


@pytest.mark.parametrize("form", FORMS)
def test_alone_it_has_its_reason_and_no_zero(form):
    text = FORMS[form](preview())
    assert "No price for" in text
    assert "KeyError" in text
    assert "0.00" not in text
    assert "$0" not in text


@pytest.mark.parametrize("form", FORMS)
def test_every_fault_of_a_component_is_there(form):
    faults = "\n".join(f"subnet_id_{place}: must be the id of a subnet, as {'/a-long-path' * 6}" for place in range(8))
    broken = failed_stack("broken", "petsnap", f"AksCluster train: 8 faults\n{faults}")
    text = FORMS[form](assemble([broken], on=ON, provenance=PROVENANCE)).replace("\\", "")
    assert [place for place in range(8) if f"subnet_id_{place}" not in text] == []


@pytest.mark.parametrize("form", FORMS)
def test_beside_others_their_sum_is_open_ended(form):
    text = FORMS[form](preview("dev-aws"))
    whole = preview("dev-aws").after.usd_per_month.expected
    assert whole > 0
    assert "+ ?" in text
    assert "KeyError" in text
    assert "dev-aws" in text


def test_the_command_says_that_a_program_failed():
    found = preview("dev-aws")
    assert found.exit_code == 69
    assert "broken" in found.exit_reason
    assert not found.silent
    broken, whole = json.loads(as_json.render(found))["stacks"]
    assert broken["after"] is None
    assert whole["after"] is not None
    rows = list(csv.DictReader(io.StringIO(focus.render(found))))
    assert {row["x_Stack"] for row in rows} == {"dev-aws"}
