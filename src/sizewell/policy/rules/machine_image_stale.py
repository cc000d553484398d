from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, require
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import Flag, either, flag, get


def machine_image_stale(pool: Pool, _: Parameters) -> Verdict:
    """Machines that are not patched start from the latest image, so that each new one has the fixes.

    >>> from sizewell.policy.examples import pool
    >>> old = {"storageProfile": {"imageReference": {"publisher": "microsoft-dsvm", "version": "22.08.11"}}}
    >>> machine_image_stale(pool(machine=old, cloud="azure"), {}).fix
    'set imageReference.version to latest'
    """
    image = get(pool.machine, "storageProfile", "imageReference")
    if image is UNKNOWN or UNKNOWN in (get(image, "id"), get(image, "sharedGalleryImageId")):
        return Undetermined("the image")
    if image is None or get(image, "id") is not None or get(image, "sharedGalleryImageId") is not None:
        return None  # an image of one's own is renewed by who builds it
    version = get(image, "version")
    latest: Flag = UNKNOWN if version is UNKNOWN else version == "latest"
    upgraded = flag(get(pool.inputs, "upgradePolicy", "automaticOSUpgradePolicy", "enableAutomaticOSUpgrade"))
    return require(
        either(latest, upgraded),
        message="the image version is fixed: vulnerabilities found since then stay open",
        fix="set imageReference.version to latest",
        unknown="the image's version",
    )


RULE = Rule(
    id="machine-image-stale",
    area="safety",
    subject="pools",
    prevents="machines with known vulnerabilities",
    judge=machine_image_stale,
    level="advisory",
    clouds=("azure",),
    types=("azure-native:compute:VirtualMachineScaleSet", "azure-native:compute:VirtualMachine"),
)
