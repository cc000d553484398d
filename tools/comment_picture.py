"""Draw docs/pictures/preview-comment.png: a comment of `sizewell preview`, as a forge shows it.

The Markdown is a golden of the tests, so the picture shows what the command writes. Run by hand after that golden
changed; needs Debian's package `chromium`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
COMMENT = ROOT / "tests/preview/goldens/over_budget.md"
PICTURE = ROOT / "docs/pictures/preview-comment.png"
WIDTH, HEIGHT = 940, 640
# Sizes and colours near to those of GitHub's comments in its light theme.
PAGE = """<!doctype html><meta charset="utf-8"><style>
* {{ box-sizing: border-box }}
body {{ margin: 16px; font: 14px/1.5 "Helvetica Neue", Arial, "Liberation Sans", sans-serif; color: #1f2328 }}
article {{ border: 1px solid #d1d9e0; border-radius: 6px }}
header {{ padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; color: #59636e;
  border-radius: 6px 6px 0 0 }}
header b {{ color: #1f2328 }}
header i {{ border: 1px solid #d1d9e0; border-radius: 9px; padding: 0 6px; font: 12px/1.4 inherit; font-style: normal }}
section {{ padding: 4px 16px 8px }}
h3 {{ font-size: 17px; margin: 10px 0 }}
p {{ margin: 10px 0 }}
code {{ background: #818b981f; padding: .15em .35em; border-radius: 6px; font: 12px "DejaVu Sans Mono", monospace }}
table {{ border-collapse: collapse; margin: 10px 0 }}
th, td {{ border: 1px solid #d1d9e0; padding: 5px 11px }}
tr:nth-child(2n) td {{ background: #f6f8fa }}
</style><article><header><b>github-actions</b> <i>bot</i> commented</header><section>{comment}</section></article>
"""


def main() -> int:
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "comment.html"
        page.write_text(PAGE.format(comment=markdown.render(COMMENT.read_text(encoding="utf-8"))), encoding="utf-8")
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
             f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}", page.as_uri()],
            check=True, capture_output=True, timeout=90,
        )  # fmt: skip
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
