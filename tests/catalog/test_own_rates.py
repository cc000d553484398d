"""What is wrong with a file of own rates has its path, its value and a way out, in each of its lists."""

from __future__ import annotations

import pytest

from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.errors import ConfigError

COMMITMENT = {"cloud": "aws", "region": "us-east-1", "count": 1, "usd_per_hour": 1, "until": "2027-01-01"}
LARGE = {**COMMITMENT, "instance_type": "m5.large"}
PLAN = {"cloud": "aws", "usd_per_hour": 1, "percent": 20, "until": "2027-01-01"}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "says nothing\n  fix: rates: [{cloud: aws, percent: 12}], or leave the file out"),
        ([], "must be a mapping with rates, commitments,"),
        ({"rates": {}}, "rates: must be a list, got {}\n  fix: begin each entry of rates with a dash"),
        ({"rates": ["aws"]}, "rates[0]: must be a mapping, got 'aws'\n  fix: write keys and values"),
        (
            {"rates": [{"usd": "20 EUR"}]},
            "rates[0].usd: must be a number from 0 to 100,000, got '20 EUR'\n  fix: usd: 20 ",
        ),
        ({"rates": [{"percent": -10}]}, "\n  fix: percent: 12 takes 12 % off; a price above the list is stated as usd"),
        ({"commitments": [{**LARGE, "count": "two"}]}, "got 'two'\n  fix: write the number alone"),
        ({"commitments": [{**LARGE, "until": "soon"}]}, "got 'soon'\n  fix: until: 2027-06-30"),
        ({"commitments": [{**LARGE, "from": "2028-01-01"}]}, "a date from 2028-01-01 on, got '2027-01-01'\n  fix: "),
        ({"commitments": [{**LARGE, "flexible": "yes"}]}, "\n  fix: flexible: true"),
        ({"commitments": [{**LARGE, "sizes": 4}]}, "\n  fix: sizes: {m5.large: 4}"),
        ({"commitments": [1]}, "commitments[0]: must be a mapping, got 1\n  fix: "),
        ({"resource_commitments": [1]}, "resource_commitments[0]: must be a mapping, got 1\n  fix: "),
        (
            {"savings_plans": [{**PLAN, "percent": 120}]},
            "must be a number from 0 to 99, got 120\n  fix: percent: 12 takes",
        ),
        ({"savings_plans": ["x"]}, "savings_plans[0]: must be a mapping, got 'x'\n  fix: "),
        ({"billing_accounts": [{"cloud": "aws", "id": 12}]}, "got 12\n  fix: id: '12'"),
        ({"billing_accounts": [{"cloud": "ibm", "id": "a"}]}, "got 'ibm'\n  fix: cloud: aws"),
    ],
)
def test_each_fault_has_a_way_out(data, says):
    with pytest.raises(ConfigError) as failed:
        parse_discounts(data, "rates.yaml")
    assert says in str(failed.value)
