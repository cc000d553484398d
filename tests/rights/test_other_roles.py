"""Every role of Google Cloud and Azure in any stack or form: what its bearer calls, and nothing beside it.

Roles of the clouds' own (`roles/...`, built-in roles by GUID) are judged in test_predefined.py.
"""

import ast
import json

import pytest
from aws_calls import BY_A_PERSON, without_functions
from google_standin import needed
from judged_plans import ROOT, forms, stacks

from sizewell.components.azure.aks.node_config import RESERVED_ACTIONS
from sizewell.components.azure.aks.pools import POOL_ACTIONS
from sizewell.components.azure.limits import workflows as azure_workflows
from sizewell.components.gcp.limits import expiry, workflows
from sizewell.components.gcp.services import documents as service_documents

HERE = "projects/p/locations/us-central1"
VERTEX = f"https://us-central1-aiplatform.googleapis.com/v1/{HERE}"
CONNECTOR = "googleapis.aiplatform.v1.projects.locations."
# What bearers of our roles call, played through in test_google_ends.py or read off the workflow that they run as.
PLAYED = (expiry.PERMISSIONS, expiry.LOOKS, workflows.PERMISSIONS)
# The checkpoint code locks what it wrote (cloud.google.com/storage/docs/object-lock: storage.objects.setRetention).
STORE = ROOT / "src/sizewell/launch/scripts/store.py"
LOCKS = ["storage.objects.setRetention"] if "lock.retain_until_time =" in STORE.read_text(encoding="utf-8") else []
STARTS = needed("post", f"https://workflowexecutions.googleapis.com/v1/{HERE}/workflows/w/executions")
# The operations of Azure's own roles: played through in test_azure_ends.py, or what its documents ask for.
AZURE = {
    tuple(azure_workflows.END_ACTIONS): "played",
    azure_workflows.LOOKS: "played",
    tuple(POOL_ACTIONS): "played",
    tuple(RESERVED_ACTIONS): "learn.microsoft.com/azure/aks/use-capacity-reservation-groups",
    ("Microsoft.Network/virtualNetworks/subnets/join/action",): "the write of a pool joins its subnet",
    (
        "Microsoft.Network/virtualNetworks/subnets/read",
        "Microsoft.Network/virtualNetworks/subnets/join/action",
    ): "learn.microsoft.com/azure/aks/configure-azure-cni",
    ("Microsoft.Compute/diskEncryptionSets/read",): "learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys",
}


# What Azure asks for a call on a blob (learn.microsoft.com/rest/api/storageservices/authorize-with-azure-active-directory,
# permissions for blob service operations): Put Blob, Put Block and Put Block List; Get Blob; List Blobs.
BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
BLOB_CALLS = {"upload_blob": f"{BLOBS}/write", "download_blob": f"{BLOBS}/read", "list_blobs": f"{BLOBS}/read"}


def blobs_asked_for():
    """The data actions of what the checkpoint code calls on a container, but for what a person removes."""
    tree = ast.parse(STORE.read_text(encoding="utf-8"))
    (store,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "AzureStore")
    calls = [node.func for node in without_functions(store, BY_A_PERSON) if isinstance(node, ast.Call)]
    on = [
        call.attr for call in calls if isinstance(call, ast.Attribute) and ast.unparse(call.value) == "self._container"
    ]
    return {BLOB_CALLS[name] for name in on}


@pytest.fixture(scope="module")
def resources():
    plans = [*forms().values(), *stacks()]
    return [(plan, resource) for plan in plans for resource in plan.resources]


def launched(plan, role):
    """Permissions of the calls of the workflow that stands beside a role and has its name; a preview does not know the
    text of one that names a key of its own, but the call in it is always the same.
    """
    for one in plan.resources:
        if (one.type, one.name, one.parent) == ("gcp:workflows/workflow:Workflow", role.name, role.parent):
            text = one.inputs.get("sourceContents")
            text = (
                text
                if isinstance(text, str)
                else service_documents.start_workflow({}, project="p", region="us-central1")
            )
            steps = [step for row in json.loads(text)["main"]["steps"] for step in row.values()]
            paths = [step["call"].removeprefix(CONNECTOR) for step in steps if "call" in step]
            return sorted({right for path in paths for right in needed("post", f"{VERTEX}/{path.rpartition('.')[0]}")})
    return None


def test_every_own_role_of_google_cloud_is_what_its_bearer_calls(resources, capsys):
    judged, unjudged = 0, set()
    for plan, one in resources:
        if one.type != "gcp:projects/iAMCustomRole:IAMCustomRole":
            continue
        held = one.inputs["permissions"]
        if tuple(held) in PLAYED or list(held) in (STARTS, LOCKS) or sorted(held) == launched(plan, one):
            judged += 1
        else:
            unjudged.add(f"{plan.stack}: {one.name}: {', '.join(held)}")
    with capsys.disabled():
        print(f"\nGoogle Cloud: own roles judged {judged}, not judged {len(unjudged)}")
    assert not unjudged, "\n".join(sorted(unjudged))
    assert judged > 5


def test_every_own_role_of_azure_is_what_its_bearer_asks_for(resources, capsys):
    judged, unjudged = 0, set()
    for plan, one in resources:
        if one.type != "azure-native:authorization:RoleDefinition":
            continue
        (held,) = one.inputs["permissions"]
        if held.get("dataActions"):
            judged += held["actions"] == [] and set(held["dataActions"]) == blobs_asked_for()
            unjudged |= {one.name} if set(held["dataActions"]) != blobs_asked_for() or held["actions"] else set()
        elif tuple(held["actions"]) in AZURE:
            judged += 1
        else:
            unjudged.add(f"{plan.stack}: {one.name}: {', '.join(held['actions'])}")
    with capsys.disabled():
        print(f"\nAzure: own roles judged {judged}, not judged {len(unjudged)}")
    assert not unjudged, "\n".join(sorted(unjudged))
    assert judged > 5
    assert all(row.startswith(("learn.microsoft.com/", "played", "the write")) for row in AZURE.values())
