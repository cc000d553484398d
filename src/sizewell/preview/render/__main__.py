"""Other forms of a preview that was written as JSON, without evaluating anything again.

python -m sizewell.preview.render preview.json --markdown comment.md --html page.html --focus rows.csv
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from sizewell.preview.records import Preview
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.validating import faults_of
from sizewell.sizing.versions import content

FORMS = ("markdown", "terminal", "html", "focus")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; 64 where the file is not a preview."""
    parser = argparse.ArgumentParser(prog="python -m sizewell.preview.render", description=__doc__.partition("\n")[0])
    parser.add_argument("preview", type=Path, help="output of `sizewell preview --format json`")
    for form in FORMS:
        parser.add_argument(f"--{form}", type=Path, metavar="FILE", help=f"write the {form} format to this file")
    args = parser.parse_args(arguments)
    try:
        text = args.preview.read_text(encoding="utf-8")
        content("preview", json.loads(text), str(args.preview))
        preview = Preview.model_validate_json(text)
    except ConfigError as error:
        print(f"sizewell: {error}", file=sys.stderr)
        return 64
    except (OSError, UnicodeDecodeError) as error:
        print(f"sizewell: {args.preview}: cannot be read: {error}", file=sys.stderr)
        return 64
    except ValidationError as error:
        first = replace(faults_of(error, Preview)[0], fix="")
        print(f"sizewell: {args.preview}: not a preview: {first}", file=sys.stderr)
        return 64
    except ValueError as error:
        print(f"sizewell: {args.preview}: not a preview: {error}", file=sys.stderr)
        return 64
    for form in FORMS:
        path = getattr(args, form)
        if path is not None:
            path.write_text(
                importlib.import_module(f"sizewell.preview.render.{form}").render(preview), encoding="utf-8"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
