"""Roles and policies of the clouds' own: who bears them needs each, and they suffice for what it calls (predefined.yaml).

What AWS calls a right is looked up in its authorization reference. `make soak` holds the published rights against
iann0036/iam-dataset, whose folder SIZEWELL_IAM_DATASET names.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import yaml
from aws_calls import roles
from aws_reference import kinds
from judged_plans import ROOT, forms, stacks

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "predefined.yaml").read_text(encoding="utf-8"))
AZURE = ROOT / "src/sizewell/components/azure"
DATASET = "SIZEWELL_IAM_DATASET"
GUID = re.compile(r'"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')
NO_ROLES = {  # GUIDs of something else: an application of Entra, the example of a docstring
    "6dae42f8-4368-4678-94ff-3960e28e3630",
    "acdd72a7-3385-48ef-bd42-f606fba81ae7",
}


def judge(cloud: str, bearer: str, held: set[str], rows: dict[str, list[str]] | None = None) -> list[str]:
    """What is wrong with the roles that a bearer holds: a call that none allows, a role without which all still work."""
    programs = (rows or TABLE["bearers"][cloud]).get(bearer)
    if programs is None:
        return [f"nothing is known to be called by {bearer}, which holds {', '.join(sorted(held))}"]
    calls = [call for program in programs for call in TABLE["programs"][program]["calls"]]
    unknown = sorted(held - set(TABLE["roles"][cloud]))
    if unknown:
        return [f"{bearer}: nothing is known of {', '.join(unknown)}"]

    def refused(names: set[str]) -> list[str]:
        rights = [right for name in names for right in TABLE["roles"][cloud][name]["rights"]]
        return [call for call in calls if not any(fnmatchcase(call.lower(), right.lower()) for right in rights)]

    faults = [f"{bearer}: {call} is refused" for call in refused(held)]
    return faults + [f"{bearer}: no call needs {name}" for name in sorted(held) if not refused(held - {name})]


def bearer_of(cloud: str, component: str, role: str) -> str:
    anybody = f"*/{role}"
    return anybody if anybody in TABLE["bearers"][cloud] else f"{component}/{role}"


@pytest.fixture(scope="module")
def plans():
    return [*forms().values(), *stacks()]


@pytest.fixture(scope="module")
def held(plans):
    """By cloud and bearer, the sets of predefined roles that it holds in some plan."""
    found: dict[tuple[str, str], list[set[str]]] = {}
    for plan in plans:
        for role in roles(plan):
            if role.managed:
                found.setdefault(("aws", bearer_of("aws", *role.kind)), []).append(set(role.managed))
        granted: dict[str, set[str]] = {}
        for resource in plan.resources:
            if resource.type.startswith("gcp:") and resource.type.rpartition(":")[2].endswith("IAMMember"):
                role = str(resource.inputs["role"])
                member = resource.type.split("/")[1].partition(":")[0]
                if role.startswith("roles/") and "analytics" not in str(resource.inputs["member"]):
                    kind = str(resource.parent).rpartition("::")[0].rpartition(":")[2]
                    granted.setdefault(bearer_of("gcp", kind, member), set()).add(role)
        for bearer, names in granted.items():
            found.setdefault(("gcp", bearer), []).append(names)
        for resource in plan.resources:
            if resource.type == "azure-native:authorization:RoleAssignment":
                named = str(resource.inputs.get("roleDefinitionId")).rpartition("/")[2]
                if named in TABLE["roles"]["azure"]:
                    found.setdefault(("azure", _purpose(resource)), []).append({named})
    for bearer, role in _stated():
        found.setdefault(("azure", bearer), []).append({role})
    return found


def _stated() -> Iterator[tuple[str, str]]:
    """Bearers of Azure's roles and their roles, as the source states both: a preview knows few scopes, in which the id of
    a role begins.
    """
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in AZURE.rglob("*.py")}
    constants = {
        node.targets[0].id: node.value.value
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    for tree in trees.values():
        for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            for call in (node for node in ast.walk(owner) if isinstance(node, ast.Call)):
                made = [ast.unparse(argument) for argument in call.args]
                if ast.unparse(call.func) != "parts.assign" and "authorization.RoleAssignment" not in made:
                    continue
                role = next(key.value for key in call.keywords if key.arg in ("role", "role_definition_id"))
                words = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(role))
                names = [str(word) for word in words]
                named = next((constants[name] for name in names if GUID.fullmatch(f'"{constants.get(name)}"')), None)
                suffix = "".join(str(part.value) for part in call.args[1].values if isinstance(part, ast.Constant))  # type: ignore[attr-defined]
                if named and (purpose := _known(suffix.strip("-"), owner.name)):
                    yield purpose, named


def _purpose(resource: Any) -> str:
    """What an assignment of Azure is for: its name behind its component's, with the component where that says more."""
    component = str(resource.parent).rpartition("::")
    suffix = re.sub(r"-\d+$", "", resource.name.removeprefix(f"{component[2]}-"))
    return _known(suffix, component[0].rpartition(":")[2]) or suffix


def _known(suffix: str, component: str) -> str:
    """The table's name of an assignment; "" where it has none."""
    names = (f"{suffix} of {component}", suffix, suffix.partition("-")[0])
    return next((name for name in names if name in TABLE["bearers"]["azure"]), "")


def test_each_bearer_needs_each_of_its_roles_and_they_suffice(held, capsys):
    faults = sorted(
        {fault for (cloud, bearer), sets in held.items() for names in sets for fault in judge(cloud, bearer, names)}
    )
    rows = {(cloud, bearer) for cloud, bearers in TABLE["bearers"].items() for bearer in bearers}
    unjudged = {" ".join(row) for row in rows - set(held)}
    counts = {
        cloud: len({name for (at, _), sets in held.items() if at == cloud for names in sets for name in names})
        for cloud in TABLE["roles"]
    }
    with capsys.disabled():
        print(f"\nPredefined roles judged: {counts}, by bearers {len(held)}; bearers not judged: ", end="")
        print(", ".join(sorted(unjudged)) or 0)
    assert not faults, "\n".join(faults)
    assert not unjudged


def test_a_role_too_few_and_one_too_many_are_told():
    row = {"b": ["pulls from ECR"]}
    pull, agent = "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"
    assert judge("aws", "b", {pull}, row) == []
    assert judge("aws", "b", {agent}, row)[0] == "b: ecr:GetAuthorizationToken is refused"
    assert judge("aws", "b", {pull, agent}, row) == [f"b: no call needs {agent}"]
    assert judge("aws", "b", {"AdministratorAccess"}, row) == ["b: nothing is known of AdministratorAccess"]


def test_every_role_that_the_components_name_is_in_the_table_and_no_other(held):
    """Azure's are known as constants only: a preview knows few of the scopes that their ids begin with."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in AZURE.rglob("*.py"))
    assert set(GUID.findall(source)) - NO_ROLES == set(TABLE["roles"]["azure"])
    for cloud in ("aws", "gcp"):
        used = {name for (at, _), sets in held.items() if at == cloud for names in sets for name in names}
        assert used == set(TABLE["roles"][cloud])


@pytest.mark.scan
def test_every_right_of_aws_is_one_that_aws_has():
    for role in TABLE["roles"]["aws"].values():
        for right in role["rights"]:
            kinds(right)  # UnjudgedError for one that the authorization reference does not know


def test_every_program_says_who_says_so_and_is_somebodys():
    used = {program for bearers in TABLE["bearers"].values() for programs in bearers.values() for program in programs}
    assert used == set(TABLE["programs"])
    rows = [*TABLE["programs"].values(), *(role for roles in TABLE["roles"].values() for role in roles.values())]
    assert all(re.match(r"[a-z.]+\.(com|google\.com)/", row["source"]) for row in rows)


@pytest.mark.soak
def test_the_published_rights_are_what_others_recorded(capsys):
    """A data set that nobody here made (MIT): every right that the table names is in the role as it was published."""
    folder = os.environ.get(DATASET)
    if not folder:
        with capsys.disabled():
            print(f"\niam-dataset: not judged ({DATASET} names no folder)")
        pytest.skip("no data set")
    base = Path(folder)
    azure = {
        row["name"]: row["permissions"] for row in json.loads((base / "azure/built-in-roles-raw.json").read_bytes())
    }
    missing, judged = [], 0
    for cloud, roles_of in TABLE["roles"].items():
        for name, row in roles_of.items():
            if cloud == "aws":
                document = json.loads((base / f"aws/managedpolicies/{name}.json").read_bytes())["document"]
                actions = [statement["Action"] for statement in document["Statement"] if statement["Effect"] == "Allow"]
                published = [one for each in actions for one in ([each] if isinstance(each, str) else each)]
            elif cloud == "gcp":
                file = base / f"gcp/roles/{name.removeprefix('roles/')}.json"
                published = json.loads(file.read_bytes())["includedPermissions"]
            else:
                published = [right for held in azure[name] for key in ("actions", "dataActions") for right in held[key]]
            judged += len(row["rights"])
            lower = {right.lower() for right in published}
            missing += [f"{name}: {right}" for right in row["rights"] if right.lower() not in lower]
    with capsys.disabled():
        print(f"\niam-dataset: rights judged {judged}, not published {len(missing)}")
    assert not missing, "\n".join(missing)
