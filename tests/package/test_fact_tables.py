"""Every table of facts is read whole: no row is malformed, stands twice or lacks where it was seen."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest

from sizewell import csvtables
from sizewell.accuracy.cases import CountField
from sizewell.accuracy.describe import EngineName
from sizewell.accuracy.notes import Note
from sizewell.accuracy.targets import MissedTarget
from sizewell.cli.reference import Variable
from sizewell.clouds.preflight.rights import LinkedRole, Right, Service
from sizewell.clouds.prices.fee_meter import Meter
from sizewell.clouds.prices.meters import KeptByHand
from sizewell.clouds.stock.gcp import TpuFamily
from sizewell.components.azure.scale_sets import WindowsZone
from sizewell.components.names import NameLimit
from sizewell.launch.gpudirect import TcpxVariable
from sizewell.policy.terms import OwnTerm
from sizewell.preview.fixed import FixedInputs
from sizewell.preview.needs import HoldsData
from sizewell.reconcile.adoption import IdentityForm
from sizewell.recording.contents.templates import ArmType
from sizewell.resources.facts import Unkept
from sizewell.resources.hidden import HidingType
from sizewell.resources.kinds import KubernetesKind
from sizewell.resources.readers.devices import DeviceName
from sizewell.resources.readers.identity import PolicyDocument
from sizewell.resources.readers.network import Firewall
from sizewell.resources.readers.pools import Measured
from sizewell.resources.scaled import Scaled
from sizewell.resources.spellings import CloudFormationType, Spelling
from sizewell.resources.standing import AcceleratorName
from sizewell.resources.tables.disks import DiskPerformance
from sizewell.resources.tables.free import FreeService, FreeType
from sizewell.resources.tables.gaps import Billed
from sizewell.resources.tables.meters import FreeInputs
from sizewell.resources.tables.meters import Meter as MeteredInput
from sizewell.resources.unfit.clusters import AddonRelease
from sizewell.resources.unfit.machines import Attached, FirstGeneration
from sizewell.resources.unfit.names import NameForm, UserNames
from sizewell.resources.unfit.services import Registries, Units
from sizewell.sizing.aliases import Alias
from sizewell.sizing.catalog.images import ImageKind
from sizewell.sizing.predict.calibration.priors import Prior
from sizewell.sizing.predict.software import Software
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.workload.devices import OtherAccelerator
from sizewell.sizing.workload.docs import Key
from sizewell.sizing.workload.foreign.command import Option
from sizewell.sizing.workload.foreign.tools import NodeLabel
from sizewell.sizing.workload.hf_config import Dimension, OtherFile
from sizewell.sizing.workload.other_kinds import UnusualModel

PACKAGE = Path(csvtables.__file__).parent
TABLES = {  # file -> its record and the columns that tell rows apart
    "accuracy/data/counts.csv": (CountField, ("part", "field")),
    "accuracy/data/engines.csv": (EngineName, ("by", "text")),
    "accuracy/data/missed_targets.csv": (MissedTarget, ("target",)),
    "accuracy/data/notes.csv": (Note, ("prefix",)),
    "cli/data/variables.csv": (Variable, ("name",)),
    "clouds/preflight/data/linked_roles.csv": (LinkedRole, ("type",)),
    "clouds/preflight/data/rights.csv": (Right, ("type",)),
    "clouds/preflight/data/services.csv": (Service, ("cloud", "module")),
    "clouds/stock/data/tpu_families.csv": (TpuFamily, ("accelerator",)),
    "clouds/prices/data/kept_by_hand.csv": (KeptByHand, ("cloud", "fee")),
    "clouds/prices/data/meters_aws.csv": (Meter, ("key", "family", "name")),
    "clouds/prices/data/meters_azure.csv": (Meter, ("key", "product", "sku", "name")),
    "clouds/prices/data/meters_gcp.csv": (Meter, ("key", "name")),
    "components/data/names.csv": (NameLimit, ("type",)),
    "components/data/windows_zones.csv": (WindowsZone, ("zone",)),
    "launch/data/tcpx.csv": (TcpxVariable, ("variable",)),
    "policy/data/own_terms.csv": (OwnTerm, ("type", "term")),
    "preview/data/fixed_inputs.csv": (FixedInputs, ("type", "source")),
    "preview/data/holds_data.csv": (HoldsData, ("type",)),
    "reconcile/data/identities.csv": (IdentityForm, ("type",)),
    "recording/contents/data/arm.csv": (ArmType, ("type",)),
    "resources/data/addon_releases.csv": (AddonRelease, ("addon", "release")),
    "resources/data/attached.csv": (Attached, ("accelerator",)),
    "resources/data/cloudformation.csv": (CloudFormationType, ("type",)),
    "resources/data/accelerator_names.csv": (AcceleratorName, ("pattern",)),
    "resources/data/scaled.csv": (Scaled, ("type", "path")),
    "resources/data/spellings.csv": (Spelling, ("type",)),
    "resources/data/firewalls.csv": (Firewall, ("type",)),
    "resources/data/hiding_types.csv": (HidingType, ("type",)),
    "resources/data/unkept.csv": (Unkept, ("type",)),
    "resources/data/first_generation.csv": (FirstGeneration, ("image",)),
    "sizing/data/image_kinds.csv": (ImageKind, ("cloud", "image")),
    "resources/data/kubernetes_kinds.csv": (KubernetesKind, ("group", "kind")),
    "resources/data/name_forms.csv": (NameForm, ("type", "system")),
    "resources/data/provisioned_units.csv": (Units, ("model",)),
    "resources/data/user_names.csv": (UserNames, ("types", "engine")),
    "resources/data/registries.csv": (Registries, ("types",)),
    "resources/readers/data/container_insights.csv": (Measured, ("instance_type",)),
    "resources/readers/data/device_names.csv": (DeviceName, ("begins", "names")),
    "resources/readers/data/policy_documents.csv": (PolicyDocument, ("type",)),
    "resources/tables/data/disk_performance.csv": (DiskPerformance, ("disk", "measure")),
    "resources/tables/data/free_services.csv": (FreeService, ("prefix",)),
    "resources/tables/data/free_types.csv": (FreeType, ("type",)),
    "resources/tables/data/free_inputs.csv": (FreeInputs, ("type",)),
    "resources/tables/data/meters.csv": (MeteredInput, ("types", "path", "what")),
    "resources/tables/data/billed.csv": (Billed, ("type", "what")),
    "sizing/data/aliases.csv": (Alias, ("of", "written")),
    "sizing/predict/data/priors.csv": (Prior, ("name",)),
    "sizing/predict/data/software.csv": (Software, ("name",)),
    "sizing/workload/data/dimension_names.csv": (Dimension, ("dimension",)),
    "sizing/workload/data/node_labels.csv": (NodeLabel, ("label",)),
    "sizing/workload/data/options.csv": (Option, ("options",)),
    "sizing/workload/data/keys.csv": (Key, ("key",)),
    "sizing/workload/data/other_files.csv": (OtherFile, ("key",)),
    "sizing/workload/data/other_accelerators.csv": (OtherAccelerator, ("names",)),
    "sizing/workload/data/unusual_models.csv": (UnusualModel, ("by", "name")),
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_well_formed_and_stand_once(name: str) -> None:
    record, key = TABLES[name]
    rows = csvtables.read(record, PACKAGE / name)
    assert rows
    counts = Counter(tuple(getattr(row, column) for column in key) for row in rows)
    assert [cells for cells, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("name", [name for name, (_, key) in TABLES.items() if "cloud" in key])
def test_a_cloud_is_one_that_has_a_record(name: str) -> None:
    record, _ = TABLES[name]
    assert {row.cloud for row in csvtables.read(record, PACKAGE / name)} <= set(CLOUDS)


OWN_WORDS = {  # of Sizewell and of its published cases, which are what they are about
    "accuracy/data/counts.csv",
    "accuracy/data/engines.csv",
    "accuracy/data/missed_targets.csv",
    "accuracy/data/notes.csv",
    "cli/data/variables.csv",
    "sizing/workload/data/keys.csv",
    "sizing/data/aliases.csv",
}


@pytest.mark.parametrize("name", sorted(TABLES.keys() - OWN_WORDS))
def test_each_row_says_where_it_was_seen(name: str) -> None:
    record, _ = TABLES[name]
    known = csvtables.sources((PACKAGE / name).parent)
    assert {row.source for row in csvtables.read(record, PACKAGE / name)} <= set(known)
    for source in known.values():
        assert re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", source.checked), source


def test_every_table_beside_code_is_walked_here() -> None:
    files = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("data/**/*.csv")}
    others = {name for name in files if name.startswith("sizing/catalog/data/") or name.endswith("/sources.csv")}
    assert files - others == set(TABLES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    kind: str
    size: int
    rate: Decimal = Decimal(1)
    shared: bool = False
    media: Literal["", "ssd", "hdd"] = ""
    zones: tuple[str, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()


def disks(folder: Path, text: str) -> tuple[Disk, ...]:
    file = folder / "disks.csv"
    file.write_text(text, encoding="utf-8")
    return csvtables.read(Disk, file)


def test_a_cell_is_read_as_its_field_is_annotated(tmp_path: Path) -> None:
    text = 'zones,kind,size,rate,shared,media,limits\na | b,"x, y",4,0.5,yes,ssd,iops=3 | mbps=a=b\n,z,1,,,,\n'
    first, second = disks(tmp_path, text)
    assert first == Disk(
        kind="x, y", size=4, rate=Decimal("0.5"), shared=True, media="ssd", zones=("a", "b"),
        limits=(("iops", "3"), ("mbps", "a=b")),
    )  # fmt: skip
    assert second == Disk(kind="z", size=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind,size\nx,four\n", "disks.csv row 2: size: not a whole number: 'four'"),
        ("kind,size\n,4\n", "disks.csv row 2: kind: must not be empty"),
        ("kind,size\nx\n", "disks.csv row 2: 1 cells, must have 2"),
        ("kind,size,colour\nx,4,red\n", "disks.csv: unknown or missing columns: colour"),
        ("kind\nx\n", "disks.csv: unknown or missing columns: size"),
        ("kind,size,shared\nx,4,maybe\n", "disks.csv row 2: shared: must be yes or no, got 'maybe'"),
        ("kind,size,media\nx,4,tape\n", "disks.csv row 2: media: must be one of (empty), ssd, hdd, got 'tape'"),
        (
            "kind,size,limits\nx,4,iops\n",
            "disks.csv row 2: limits: must be KEY=VALUE, further ones after ' | ', got 'iops'",
        ),
        ("kind,size,rate\nx,4,much\n", "disks.csv row 2: rate: not a number: 'much'"),
    ],
)
def test_a_wrong_cell_is_named_with_file_row_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(csvtables.TableError) as caught:
        disks(tmp_path, text)
    assert message in str(caught.value)
