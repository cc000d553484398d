"""Record examples/repositories/typescript/recorded/plan.json: what the real engine says of the change in change.diff.

    python tools/record_typescript.py NODE_MODULES

The program runs under Node with the engine's TypeScript host; its cloud is the stand-in of tests/engine. NODE_MODULES
is the folder that `npm install` made of the example's package.json, outside of the repository. On PATH: pulumi,
pulumi-language-nodejs, node.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/repositories/typescript"
sys.path.insert(0, str(ROOT / "tests/engine"))


def main(modules: Path) -> None:
    import harness

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "project"
        work.mkdir()
        for name in ("Pulumi.yaml", "Pulumi.prod.yaml", "package.json", "tsconfig.json", "index.ts"):
            shutil.copy(EXAMPLE / name, work / name)
        (work / "node_modules").symlink_to(modules.resolve(), target_is_directory=True)
        engine = harness.Engine(
            project=work, environment=harness.environment(Path(folder)), clouds=Path(folder) / "clouds"
        )
        engine.run("stack", "init", "prod")
        engine.up("prod")
        subprocess.run(["patch", "-p1", "-i", EXAMPLE / "recorded/change.diff"], cwd=work, check=True)
        plan = engine.preview("prod")
    warnings = [each for each in plan.get("diagnostics", []) if "from $PATH at" not in each["message"]]
    text = json.dumps({**plan, "diagnostics": warnings}, indent=1, sort_keys=True) + "\n"
    if folder in text:
        sys.exit(f"the plan names {folder}: {text[text.index(folder) - 300 : text.index(folder) + 200]}")
    (EXAMPLE / "recorded/plan.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
