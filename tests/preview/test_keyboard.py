"""The pages of preview and explain by the Tab key in headless Chromium: what gets the focus, in which order, and whether it shows.

Chromium is driven through its pipe, so that no library and no port is needed; Debian's package is `chromium`.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from situations import SITUATIONS

from sizewell.cli.main import main
from sizewell.preview.render import html

ROOT = Path(__file__).parents[2]
FOCUSED = """(() => { const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return null;
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  return { tag: e.tagName, text: e.innerText.slice(0, 40), top: box.top + scrollY, left: box.left,
    shown: e.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
    visible: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight }; })()"""
needed = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium")


class Browser:
    """One page of Chromium, by the DevTools protocol over its pipe."""

    def __init__(self, page: Path) -> None:
        from_us, self.out = os.pipe()
        self.inward, to_us = os.pipe()
        command = (
            f"exec 3<&{from_us} 4>&{to_us}; exec chromium --headless --no-sandbox --disable-gpu --no-first-run "
            f"--disable-background-networking --remote-debugging-pipe --user-data-dir={page.parent}/profile about:blank"
        )
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=(from_us, to_us), stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self.numbers, self.buffer, self.session = itertools.count(1), b"", ""
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.navigate", url=page.as_uri())
        self.message(lambda message: message.get("method") == "Page.loadEventFired")

    def message(self, wanted: Any) -> dict[str, Any]:
        while True:
            while b"\0" not in self.buffer:
                read = os.read(self.inward, 65_536)
                assert read, "chromium ended"
                self.buffer += read
            text, self.buffer = self.buffer.split(b"\0", 1)
            if wanted(message := json.loads(text)):
                return message

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        sent = {"id": number, "method": method, "params": parameters} | (
            {"sessionId": self.session} if self.session else {}
        )
        os.write(self.out, json.dumps(sent).encode() + b"\0")
        return self.message(lambda message: message.get("id") == number)["result"]

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def tab(self) -> dict[str, Any] | None:
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        return self.value(FOCUSED)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.inward)


def stops(page: Path) -> Iterator[dict[str, Any]]:
    """Each element that Tab reaches, until the focus leaves the page or is back at the first one."""
    browser = Browser(page)
    try:
        first = None
        for _ in range(200):
            stop = browser.tab()
            place = stop and (stop["tag"], stop["top"], stop["left"])
            if stop is None or place == first:
                return
            first = first or place
            yield stop
        pytest.fail("Tab never leaves the page")
    finally:
        browser.close()


@needed
@pytest.mark.parametrize("name", ["multi_stack", "policy_failed", "explain"])
def test_tab_goes_down_the_page_and_the_focus_shows(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    if name == "explain":
        assert main(["explain", str(ROOT / "examples/chat.yaml"), "--on", "2026-09-20", "--html", str(page)]) == 0
    else:
        page.write_text(html.render(SITUATIONS[name]()))
    seen = list(stops(page))
    assert {"DIV", "SUMMARY"} <= {stop["tag"] for stop in seen}  # wide tables that scroll, and what folds
    assert [stop for stop in seen if not (stop["shown"] and stop["visible"])] == []
    places = [(stop["top"], stop["left"]) for stop in seen]
    assert places == sorted(places)


@needed
def test_a_focus_that_does_not_show_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        html.render(SITUATIONS["policy_failed"]()).replace(
            "</head>", "<style>* {outline: none !important}</style></head>"
        )
    )
    assert not any(stop["shown"] for stop in stops(page))
