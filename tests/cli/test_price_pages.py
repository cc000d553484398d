"""The commands of the pages about prices run as they are printed there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sizewell.cli.main import main

HOWTO = Path(__file__).parents[2] / "docs/howto"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (HOWTO / page).read_text(), re.DOTALL)


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_of_own_rates_run(project, capsys):
    (project / "rates.csv").write_text(
        "cloud,instance_type,region,market,usd\naws,g6.xlarge,us-east-1,on-demand,0.61\n"
    )
    for line in "".join(blocks("own-rates.md", "sh")).splitlines():
        program, *words = shlex.split(line)
        assert (program, main(words)) == ("sizewell", 0), line
    assert "0.61" in capsys.readouterr().out


def test_the_commands_of_refresh_prices_run(project, capsys, monkeypatch):
    from tests.clouds.price_standin import serve, truth
    from tests.clouds.rest_server import serving

    with serving() as server:
        serve(server)
        monkeypatch.setenv("AZURE_ENDPOINT_URL_PRICES", server.url)
        for line in "".join(blocks("refresh-prices.md", "sh")).splitlines():
            program, *words = shlex.split(line)
            assert (program, main(words)) == ("sizewell", 0), line
    usd = truth("westeurope")["Standard_NC24ads_A100_v4", "on-demand"]
    out = capsys.readouterr().out
    assert f"{usd.normalize():f}" in out
    assert re.search(r"aws spot: \d+ up", out)  # of the recorded month
    assert re.search(r"gcp spot: \d+ down", out)


def test_the_rates_and_the_table_of_own_rates_are_read(project):
    from sizewell.sizing import catalog

    (project / "catalog/offers").mkdir(parents=True)
    (project / "catalog/rates.yaml").write_text(blocks("own-rates.md", "yaml")[0])
    (project / "catalog/offers/aws.csv").write_text(blocks("own-rates.md", "csv")[0])
    known = catalog.load()
    assert str(known.price("aws", "p5.48xlarge", "eu-north-1").amount) == "52.1"  # the rate, over the table's 50.5
    assert len(known.rates.rates) == 7
    assert len(known.rates.commitments) == 1


def test_the_engine_of_own_rates_is_read(project):
    from sizewell.sizing.catalog.engines import SHIPPED
    from sizewell.sizing.catalog.engines.own import with_own

    (project / "catalog/engines").mkdir(parents=True)
    (project / "catalog/engines/vllm.yaml").write_text(
        next(block for block in blocks("own-rates.md", "yaml") if "images:" in block)
    )
    assert with_own(SHIPPED, project / "catalog")["vllm"].images == {"cuda": "registry.example.com/mirror/vllm-openai"}
