"""Sellers by the token beside a service of one's own: arithmetic over published rates, and what is said of the
others."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from sizewell.cli.main import main
from sizewell.sizing import catalog
from sizewell.sizing.choose.elsewhere import BY_THE_API, by_the_token
from sizewell.sizing.workload.read import parse_spec

CHAT = {
    "name": "chat", "kind": "inference", "model": "meta-llama/Llama-3.3-70B-Instruct", "owner": "a", "cost_center": "c",
    "traffic": {"rps": 2, "input_tokens": 1000, "output_tokens": 250}, "slo": {"ttft": "1s", "tpot": "100ms"},
}  # fmt: skip


@pytest.fixture(scope="module")
def facts():
    return catalog.load(catalog.loading.DATA)


def offers(facts, **changes):
    return by_the_token(parse_spec(json.dumps({**CHAT, **changes}), catalog=facts), facts)


def test_the_month_is_tokens_times_published_rates(facts):
    """Two requests a second are 5,256,000 a month: 5,256 million tokens in, 1,314 million out."""
    found = {offer.seller.seller: offer for offer in offers(facts)}
    assert found["groq"].usd_per_month == Decimal(5256) * Decimal("0.59") + Decimal(1314) * Decimal("0.79")
    assert set(found) >= {"groq", "sambanova", "together"}
    months = [offer.usd_per_month for offer in offers(facts)]
    assert months == sorted(months)


def test_a_schedule_has_its_traffic_in_its_hours(facts):
    day = offers(facts, schedule={"on": "Mon-Fri 08:00-16:24 UTC"})  # 42 of 168 hours
    assert [4 * offer.usd_per_month for offer in day] == [offer.usd_per_month for offer in offers(facts)]


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "Qwen/Qwen2.5-14B-Instruct"},
        {"traffic": {"concurrent_users": 20, "input_tokens": 10, "output_tokens": 10}},
        {"model": {"dimensions": {"params": "8B"}}},
    ],
)
def test_where_nobody_sells_it_or_the_load_has_no_rate_nothing_is_said(facts, changes):
    assert offers(facts, **changes) == ()


def test_a_model_is_not_another_size_or_version(facts):
    sold = {offer.price.model for offer in offers(facts, model="meta-llama/Llama-3.1-8B")}
    assert sold == {"meta-llama/Llama-3.1-8B-Instruct"}


@pytest.mark.parametrize("name", ["groq", "cerebras", "sambanova", "graphcore"])
def test_each_has_a_row_with_what_it_suits_its_rate_and_why_it_is_not_built(facts, name, capsys):
    seller = facts.sellers[name]
    assert seller.suits
    assert seller.not_built
    assert main(["prices", "show", name]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"not built: {seller.not_built}" in out
    if name == "graphcore":
        assert "? USD an hour" in out
    else:
        assert any(price.seller == name for price in facts.token_prices)
    assert main(["prices", "show", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["seller"] == name


def test_size_and_explain_show_them_beside_the_answer(tmp_path, capsys):
    path = tmp_path / "chat.yaml"
    path.write_text(json.dumps(CHAT))
    assert main(["size", str(path), "--on", "2026-11-22"]) in (0, 3)
    assert "Groq" in capsys.readouterr().out.partition("priced per token")[2]
    assert main(["explain", str(path), "--why", "Graphcore"]) == 0
    assert "Graphcore is not built: no cloud that Sizewell builds on sells it" in capsys.readouterr().out


def test_the_cheapest_is_an_alternative_of_the_decision_by_the_prices_of_its_day(facts, tmp_path, capsys):
    path = tmp_path / "chat.yaml"
    path.write_text(json.dumps(CHAT))
    found = {}
    for day in ("2026-11-22", "2026-10-31"):  # the rates are of 1 November
        assert main(["size", str(path), "--on", day, "--json"]) in (0, 3)
        (workload,) = json.loads(capsys.readouterr().out)["workloads"]
        found[day] = [other for other in workload["alternatives"] if other["market"] == BY_THE_API]
    (other,) = found["2026-11-22"]
    cheapest = offers(facts)[0]
    assert (other["cloud"], other["instance_type"]) == (cheapest.seller.seller, cheapest.price.listed_as)
    assert Decimal(other["usd_per_month"]) == cheapest.usd_per_month.quantize(Decimal("0.01"))
    assert "does not provision" in other["why_not"]
    assert found["2026-10-31"] == []


def test_an_own_row_takes_the_place_of_a_shipped_one(facts, tmp_path):
    (tmp_path / "token_prices.csv").write_text(
        "seller,model,listed_as,input_usd,output_usd,effective_from,source,confidence\n"
        "groq,meta-llama/Llama-3.3-70B-Instruct,llama-3.3-70b-versatile,0.4,0.6,2026-11-10,our contract,high\n"
    )
    merged = catalog.load(overlay=tmp_path)
    cheapest = by_the_token(parse_spec(json.dumps(CHAT), catalog=merged), merged)[0]
    assert (cheapest.seller.seller, cheapest.price.input_usd) == ("groq", Decimal("0.4"))


def test_nobody_sells_the_tokens_of_adapters_of_ones_own(facts):
    own = {**CHAT, "model": {"name": "meta-llama/Llama-3.3-70B-Instruct", "adapters": {"count": 8, "rank": 16}}}
    assert by_the_token(parse_spec(json.dumps(CHAT), catalog=facts), facts)
    assert by_the_token(parse_spec(json.dumps(own), catalog=facts), facts) == ()
