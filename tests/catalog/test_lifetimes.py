"""What ages is in three tables with source and date; no code names a version that is in none of them."""

import ast
import re
from datetime import date
from pathlib import Path

import pytest

import sizewell
from sizewell.components.azure.aks import charts as aks_charts
from sizewell.launch import images
from sizewell.sizing import catalog
from sizewell.sizing.catalog import lifetimes
from sizewell.sizing.errors import CatalogError

SOURCE = Path(sizewell.__file__).parent
KNOWN = lifetimes.load()
ROOMS = (
    "components",
    "launch",
    "clouds",
    "teardown",
    "reconcile",
    "stacks",
    "sizing/catalog/engines",
    "sizing/providers",
)
IMAGE = re.compile(r"(?:[a-z0-9][\w.-]*/)+[a-z0-9][\w.-]*:(v?\d[\w.-]*|[a-z]+-[\w.]*\d[\w.-]*)")
KUBERNETES = re.compile(r"v?1\.[2-9]\d(\.\d+)?")
EXACT = re.compile(r"v?\d+\.\d+\.\d+(\.\d+)?([-.+]\w[\w.-]*)?|doca[\d.]+-[\w.-]+|v?\d+\.\d+\.\d+")
DAY = re.compile(r"20\d\d-\d\d-\d\d(-preview)?")
ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+(/\d+)?|(10|192|172|203|169|100)\.\d+\.\d+\.?.*")
# What looks like a version and does not age: languages of documents that their clouds fix for good.
FIXED = {
    "2012-10-17": "language of IAM's policies",
    "2020-12-01": "language of SageMaker's pipelines",
    "1.0.0.0": "contentVersion of a Logic App, which is the writer's own",
    "2026-12-28": "a day whose length is taken",
    "0.15.0": "first release of vLLM that takes a draft model, which it stays",
    "0.16.0": "first release of vLLM that makes fp8 weights one layer at a time",
    "0.20.0": "first release of vLLM that knows fp8_per_tensor",
    "0.28.0": "first release of vLLM without bitsandbytes",
    "0.31.0": "first release of vLLM that takes no 16-bit checkpoint for fp8",
}
EXAMPLES = ("myregistry.azurecr.io/", "registry.example/", "mirror.example/")


def literals(path):
    """(line, text) of every string in code, the parts of f-strings among them, but no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                docs.add(id(statement.value))
        if isinstance(node, ast.keyword) and node.arg == "checked":  # when a fact was looked at
            docs.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


def unknown_in(text):
    """Versions in a string that no row has."""
    versions = {row.version for row in KNOWN.releases}
    minors = {row.version for row in KNOWN.kubernetes}
    images = [match for match in IMAGE.finditer(text) if not match[0].startswith(EXAMPLES)]
    if images:
        return [match[0] for match in images if match[1].removesuffix("-ubuntu").rstrip(".") not in versions]
    if KUBERNETES.fullmatch(text):
        return [] if text in minors | versions else [text]
    if (EXACT.fullmatch(text) and not ADDRESS.fullmatch(text)) or DAY.fullmatch(text):
        return [] if text in versions or text in FIXED else [text]
    return []


def named():
    for room in ROOMS:
        for path in sorted((SOURCE / room).rglob("*.py")):
            for line, text in literals(path):
                yield f"{path.relative_to(SOURCE)}:{line}", text


def test_no_code_names_a_version_that_is_in_no_table():
    assert [f"{where}: {version}" for where, text in named() for version in unknown_in(text)] == []


def test_what_is_taken_for_no_version_is_there():
    texts = {text for _, text in named()}
    assert [text for text in FIXED if text not in texts] == []


@pytest.mark.parametrize(
    "text",
    ["1.38", "registry.k8s.io/kueue/kueue:v0.99.0", "v9.9.9-eksbuild.1", "2031-01-01", "9.57.0", "doca9.9.9-26.1-1"],
)
def test_the_parser_sees_a_version_that_is_new(text):
    assert unknown_in(text) == [text]


def test_every_row_is_named_in_code_or_has_ended():
    """What earlier releases named, and people's own stacks may name still, stays for its end alone."""
    texts = " ".join(text for _, text in named())
    ours = [row for row in KNOWN.releases if row.kind in ("addon", "image", "api")]
    charts = [row for row in KNOWN.releases if row.kind == "chart"]  # those that people install may last
    ours += [row for row in charts if row.name in texts.split() and lifetimes.minor(row.version) != row.version]
    # what runs is named by people: of their images the releases tell the CUDA
    unnamed = [row for row in ours if row.version not in texts and row.name != images.NGC and not row.cuda]
    unnamed += [row for row in ours if row.version == "*"]  # of a project that has ended
    assert [(row.name, row.version) for row in unnamed if not ended(row)] == []
    installed = [(row.name, row.version) for row in ours if row not in unnamed and ended(row)]
    assert installed == [], "this release installs what had ended when it was looked at"


def ended(row):
    return lifetimes.ended(row.supported_until, date.fromisoformat(row.checked))


def test_every_row_has_its_source_and_a_day_that_is_not_ahead_of_the_newest_price():
    rows = [*KNOWN.kubernetes, *KNOWN.releases, *KNOWN.drivers]
    assert len(
        {(type(row), getattr(row, "service", ""), getattr(row, "kind", ""), *row_key(row)) for row in rows}
    ) == len(rows)
    for row in rows:
        assert row.source, row
        # lists are as old as the copy that was read: Azure's of models is of September, its retirements of last December
        retirements = dict.fromkeys(("machine", "runtime", "sku", "service", "closed"), date(2025, 12, 18))
        oldest = {"model": date(2026, 9, 1), **retirements}.get(getattr(row, "kind", ""), date(2026, 11, 1))
        if row.source.endswith("at a70eca3"):  # the copy of endoflife.date that was read
            oldest = min(oldest, date(2026, 8, 22))
        assert oldest <= date.fromisoformat(row.checked), row
    for row in KNOWN.releases:
        assert row.supported_until or row.note or row.kind == "system", f"unknown, and nothing says why: {row}"


def row_key(row):
    return (getattr(row, "name", getattr(row, "accelerator", "")), getattr(row, "version", ""))


def test_what_follows_a_kubernetes_version_is_in_its_row():
    for row in KNOWN.kubernetes:
        if row.built:
            assert row.supported_until, row
        assert not row.extended_until or row.extended_until > row.supported_until, row
        assert (row.ubuntu in aks_charts.CODENAMES) is (row.service == "aks"), row
        if row.autoscaler:
            assert row.autoscaler.startswith(f"v{row.version}."), row
        assert bool(row.autoscaler) is (row.built and row.service in ("eks", "hyperpod")), row


@pytest.mark.parametrize("service", ["eks", "hyperpod", "aks"])
def test_a_default_is_the_newest_that_is_built_and_was_supported_for_months_when_it_was_checked(service):
    default = KNOWN.default(service)
    later = [
        row
        for row in KNOWN.versions(service).values()
        if lifetimes.number(row.version) > lifetimes.number(default.version)
    ]
    assert not any(row.built for row in later)
    assert all(row.note for row in later), "why a newer version is no default"
    assert lifetimes.age_days(default.supported_until, date.fromisoformat(default.checked)) < -90


def test_every_accelerator_with_cuda_that_a_cloud_sells_has_a_range_of_drivers():
    known = catalog.load()
    sold = {
        shape.accelerator
        for shape in known.shapes
        if shape.cloud in ("aws", "azure", "gcp") and shape.runtime == "cuda"
    }
    assert sold
    missing = [key for key in sorted(sold) if KNOWN.driver_range(key, known.accelerators[key].family) is None]
    assert missing == []


def test_a_project_s_own_row_takes_the_place_of_the_shipped_one(tmp_path):
    folder = tmp_path / "ages"
    folder.mkdir()
    header = ",".join(catalog.table.columns_of(lifetimes.KubernetesVersion))
    rows = "eks,1.38,2028-05-01,2029-05-01,no,,,,eks describe-cluster-versions,2027-03-01\neks,1.37,2027-12-01,,no,,,,eks,2027-03-01\n"
    (folder / "kubernetes.csv").write_text(f"{header}\n{rows}")
    own = lifetimes.load(tmp_path)
    assert list(own.versions("eks"))[-2:] == ["1.37", "1.38"]
    assert own.versions("eks")["1.37"].supported_until == "2027-12-01"
    assert own.default("eks") == KNOWN.default("eks")
    assert catalog.load(overlay=tmp_path).digest, "other tables are read as ever"


def test_wrong_rows_of_a_project_are_named_by_file_row_and_column(tmp_path):
    folder = tmp_path / "ages"
    folder.mkdir()
    header = ",".join(catalog.table.columns_of(lifetimes.KubernetesVersion))
    (folder / "kubernetes.csv").write_text(f"{header}\nekz,1.38,2028-5-1,,no,,,,x,2027-03-01\n")
    (folder / "charts.csv").write_text("a\n")
    with pytest.raises(CatalogError) as caught:
        lifetimes.load(tmp_path)
    told = str(caught.value)
    assert "catalog/ages/kubernetes.csv row 2: service" in told
    assert "catalog/ages/charts.csv" in told


def test_a_table_that_a_spreadsheet_wrote_is_read_and_a_version_that_it_cut_is_named(tmp_path):
    folder = tmp_path / "ages"
    folder.mkdir()
    header = ",".join(catalog.table.columns_of(lifetimes.KubernetesVersion))
    row = "eks,{},2028-05-01,,no,,,,x,2027-03-01"
    (folder / "kubernetes.csv").write_text("\ufeff" + f"{header}\r\n{row.format('1.40')}\r\n", encoding="utf-8")
    assert lifetimes.load(tmp_path).versions("eks")["1.40"].supported_until == "2028-05-01"
    (folder / "kubernetes.csv").write_text(f"{header}\n{row.format('1.4')}\n")
    with pytest.raises(CatalogError, match=r"quote it: a spreadsheet makes 1\.4 of 1\.40"):
        lifetimes.load(tmp_path)
