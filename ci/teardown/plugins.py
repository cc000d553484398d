"""Installs the engine's plugins of the providers whose Python packages are installed, in the versions of those."""

import json
import subprocess
from importlib.metadata import distributions

for distribution in distributions():
    for file in distribution.files or ():
        if file.name != "pulumi-plugin.json":
            continue
        stated = json.loads(file.read_text())
        if stated.get("resource", True):
            name, version = stated["name"], stated.get("version") or distribution.version
            command = ["pulumi", "plugin", "install", "resource", name, f"v{version.removeprefix('v')}"]
            if server := stated.get("server"):
                command += ["--server", server]
            subprocess.run(command, check=True)
