"""Wheels with nothing in them, so that pip has something to install where there is no index."""

from __future__ import annotations

import zipfile
from pathlib import Path


def shelf(folder: Path, versions: dict[str, str]) -> Path:
    """A folder for pip's --find-links: a wheel of each name, which has a module of that name and needs nothing."""
    folder.mkdir(parents=True)
    for name, version in versions.items():
        about = f"{name}-{version}.dist-info"
        files = {
            f"{name}.py": f'VERSION = "{version}"\n',
            f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: aws\n",
            f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for path, text in files.items():
                wheel.writestr(path, text)
    return folder
