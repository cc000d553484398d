"""A record has no room for what names its owner, is refused once it was changed, and is filed with the page."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sizewell.evidence import page, record, signing
from sizewell.sizing.errors import ConfigError, UsageError

from .pretend import CATALOG, SCHEMA, Pretend, started, the_record


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = started(tmp_path_factory.mktemp("run"), Pretend())
    run.go()
    return json.loads(the_record(run).to_json())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "own key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me@example.com", "-f", path], check=True)
    return path


def put(value: Any, *keys: str | int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for each in keys[:-1]:
            document = document[each]  # type: ignore[index]
        document[keys[-1]] = value  # type: ignore[index]

    return change


def stage(name: record.Name, outcome: str, cause: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["stages"][record.STAGES.index(name)] |= {"outcome": outcome, "cause": cause}

    return change


NAMES = ("123456789012", "petsnap-prod", "me@example.com", "arn:aws:iam::123456789012:role/x", "10.0.0.7", "/home/me/x")
PLACES = [
    ("run",),
    ("schema",),
    ("started_at",),
    ("versions", "sizewell"),
    ("machines", 0, "cloud"),
    ("machines", 0, "region"),
    ("machines", 0, "instance_type"),
    ("machines", 0, "market"),
    ("stages", 0, "stage"),
    ("stages", 0, "outcome"),
    ("stages", 0, "cause"),
    ("stages", 0, "seconds"),
    ("stages", 0, "figures", "checks"),
    ("limits", "usd"),
    ("note",),
    ("stages", 0, "note"),
    ("stages", 0, "figures", "note"),
    ("versions", "acme-tool"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_nothing_that_names_an_owner_gets_in(place: tuple[str | int, ...], name: str, document: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(document))
    put(name, *place)(changed)
    with pytest.raises(ConfigError):
        record.read(json.dumps(changed), "it.json", CATALOG)


def test_a_version_of_ones_own_is_left_out() -> None:
    for own in ("0.1.0+acme.internal.build", "1.0/home/me", "main-123456789012-x", ""):
        assert record.version(own) == "0.0"
    for usual in ("0.1.0", "v3.210.0", "3.11.8", "7.0.0a1", "0.2.dev3", "3.260.0-alpha.1763000000"):
        assert record.version(usual) == usual


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("sizewell.evidence/9", "schema"), "upgrade Sizewell"),
        (put("us-nowhere-1", "machines", 0, "region"), "the catalog has no region us-nowhere-1"),
        (put("g4dn.huge", "machines", 0, "instance_type"), "the catalog has no g4dn.huge"),
        (put("passed", "stages", 4, "outcome"), "passed has a cause"),
        (put("failed", "stages", 1, "outcome"), "failed without a cause"),
        (put(3, "stages", 9, "figures", "resources_left"), "inventory passed, and its figures do not say so"),
        (stage("up", "not tried", "not asked for"), "reachable passed, and up, which it needs, was not tried"),
        (stage("up", "failed", "capacity"), "reachable passed, and up, which it needs, failed"),
        (stage("destroyed", "failed", "denied"), "inventory passed, and destroyed, which it needs, failed"),
        (stage("rights", "failed", "denied"), "up was tried, and rights failed"),
        (put([], "machines"), "machines: there is none"),
        (put(99_999, "stages", 1, "seconds"), "took longer than the run"),
        (
            put([{"stage": "destroyed", "cause": "engine", "seconds": 99_999.0}], "attempts"),
            "attempts: one took longer than the run",
        ),
        (put(0.1, "limits", "usd_spent_max"), "is less than its hours cost"),
        (put({}, "stages", 3, "figures"), "guard passed, and its figures do not say so"),
        (put(1, "stages", 3, "figures", "machines_at_last"), "guard passed, and its figures do not say so"),
        (put(0, "stages", 2, "figures", "endpoints_reached"), "reachable passed, and its figures do not say so"),
        (put(2, "stages", 0, "figures", "checks_failed"), "rights passed, and its figures do not say so"),
        (put(False, "limits", "kept"), "does not agree"),
        (put(-1, "stages", 0, "seconds"), "greater than or equal to 0"),
        (put([], "stages"), "each once and in this order"),
        (put("2026-13-45T99:00:00Z", "started_at"), "a time such as"),
        (put("1970-01-01T00:00:00Z", "ended_at"), "ended_at: must be 1970-01-12T.* or later"),
        (put("2199-01-01T00:00:00Z", "ended_at"), "ended_at: is in the future: it is 20"),
    ],
)
def test_what_cannot_be_is_refused(
    change: Callable[[dict[str, Any]], None], said: str, document: dict[str, Any]
) -> None:
    changed = json.loads(json.dumps(document))
    change(changed)
    with pytest.raises(ConfigError, match=said):
        record.read(json.dumps(changed), "it.json", CATALOG)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"schema": 1, "schema": 2}', "[" * 100_000, "\x00"])
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        record.read(text, "it.json", CATALOG)


def test_the_schema_has_an_allowed_form_for_every_text() -> None:
    def texts(node: Any, path: str) -> list[str]:
        if isinstance(node, list):
            return [each for item in node for each in texts(item, path)]
        if not isinstance(node, dict):
            return []
        free = node.get("type") == "string" and not {"pattern", "enum", "const"} & node.keys()
        return [path] * free + [each for key, item in node.items() for each in texts(item, f"{path}/{key}")]

    assert texts(SCHEMA, "") == []
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def trust(key: Path, folder: Path) -> Path:
    signers = folder / "allowed_signers"
    public = " ".join(key.with_name(f"{key.name}.pub").read_text().split()[:2])
    signers.write_text(f'evidence namespaces="sizewell-evidence" {public}\n')
    return signers


def test_signed_changed_and_by_another_key(document: dict[str, Any], key: Path, tmp_path: Path) -> None:
    file = tmp_path / "record one.json"
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="is not signed"):
        signing.verify(file, tmp_path / "signers")
    signing.sign(file, key)
    assert "me@example.com" not in signing.beside(file).read_text()
    with pytest.raises(UsageError, match="names the keys whose records are taken in"):
        signing.verify(file, tmp_path / "signers")
    signers = trust(key, tmp_path)
    signing.verify(file, signers)
    signing.sign(file, key)  # again: the older signature is replaced
    signing.verify(file, signers)
    file.write_text(file.read_text().replace("passed", "failed", 1))
    with pytest.raises(UsageError, match="was changed after it was signed"):
        signing.verify(file, signers)
    file.write_text(json.dumps(document))
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    signing.sign(file, other)
    with pytest.raises(UsageError, match=r"is signed by a key that .* does not trust"):
        signing.verify(file, signers)


def test_the_line_that_trusts_a_key_works(document: dict[str, Any], key: Path, tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    file.write_text(json.dumps(document))
    signing.sign(file, key)
    with pytest.raises(UsageError) as refused:
        signing.verify(file, tmp_path / "signers")
    line = str(refused.value).partition("to trust: ")[2].replace("KEY.pub", f"'{key}.pub'")
    subprocess.run(["sh", "-c", line], check=True)
    signing.verify(file, tmp_path / "signers")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("me@example.com KEY me at home", ""),
        ("# people\n\nyou@example.com,me@example.com KEY", ""),
        ('*@example.com namespaces="git,sizewell-evidence" KEY', ""),
        ('me@example.com namespaces="git" KEY\nevidence namespaces="sizewell-*" KEY', ""),
        ("you@example.com OTHER\n!you@example.com,*@example.com KEY", ""),
        ("no key at all\nme@example.com KEY", ""),
        ("*@example.com cert-authority OTHER\nme@example.com KEY", ""),
        ('me@example.com namespaces="git" KEY', "not permitted for use in signature namespace"),
        ('me@example.com valid-before="20200101" KEY', "key has expired"),
        ("me@example.com OTHER", "Good"),
        ("me@example.com cert-authority KEY", "Good"),
    ],
)
def test_a_file_of_signers_as_git_has_it(
    lines: str, why: str, document: dict[str, Any], key: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    for name, path in (("KEY", key), ("OTHER", other)):
        lines = lines.replace(name, " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2]))
    file, signers = tmp_path / "it.json", tmp_path / "allowed_signers"
    file.write_text(json.dumps(document))
    signers.write_text(lines)
    signing.sign(file, key)
    if not why:
        signing.verify(file, signers)
        return
    with pytest.raises(UsageError, match=f"does not trust for sizewell-evidence: .*{why}"):
        signing.verify(file, signers)


def test_a_certificate_of_an_authority_that_is_trusted(document: dict[str, Any], tmp_path: Path) -> None:
    for name in ("own", "authority"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    subprocess.run(
        ["ssh-keygen", "-q", "-s", "authority", "-I", "it", "-n", "me@example.com", "own.pub"], cwd=tmp_path, check=True
    )
    file, signers = tmp_path / "it.json", tmp_path / "allowed_signers"
    file.write_text(json.dumps(document))
    signing.sign(file, tmp_path / "own-cert.pub")
    public = (tmp_path / "authority.pub").read_text()
    signers.write_text(f"*@example.com cert-authority {public}")
    signing.verify(file, signers)
    signers.write_text(f"*@example.org cert-authority {public}")
    with pytest.raises(UsageError, match="does not trust"):
        signing.verify(file, signers)


def test_a_key_that_is_none(document: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="is no file"):
        signing.sign(file, tmp_path / "nothing")
    (tmp_path / "broken").write_text("no key")
    with pytest.raises(UsageError, match="does not sign"):
        signing.sign(file, tmp_path / "broken")


def test_the_page_counts_what_was_not_tried_as_that(document: dict[str, Any]) -> None:
    empty = page.page([])
    assert empty.count("never tried") == 3 * len(record.STAGES)
    assert "passed 2" not in empty
    text = page.page([record.read(json.dumps(document), "it.json", CATALOG)])
    assert "| **up**: the stack is built, its expiry stack first | passed 1970-01-12, 0.1.0 | never tried |" in text
    assert "ends" not in text or "| **checkpoint**" in text
    assert text.count("never tried") == 3 * len(record.STAGES) - 6
    assert "| checkpoint | not tried: not automated |" in text


def test_the_page_of_this_repository_is_of_its_own_records() -> None:
    root = Path(record.__file__).parents[3]
    for path in (root / "evidence").glob("*.json"):
        signing.verify(path, root / signing.SIGNERS)
        record.read(path.read_text(encoding="utf-8"), str(path), CATALOG)
