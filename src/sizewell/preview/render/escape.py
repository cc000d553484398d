"""Text that a user chose (names, messages), made harmless in a Markdown comment.

Names stand in code spans, where nothing is interpreted. In running text, everything that Markdown, a mention, an issue
number or an automatic link would react to is broken.
"""

from __future__ import annotations

import re

_MARKDOWN = re.compile(r"([\\`*_\[\]|~])")
_SPAN = re.compile(r"(`[A-Za-z0-9](?:[A-Za-z0-9 ._/=-]*[A-Za-z0-9])?`)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_REFERENCE = re.compile(r"(@|#)(?=\w)")
_LINK = re.compile(r"(?i)\b(https?|ftp|mailto):|\bwww\.")
_ARN = re.compile(r"\barn:[a-z-]*:[^\s`|,]+")
_BREAK = "\u200b"  # zero width space


def code(text: str, width: int = 80) -> str:
    r"""A code span that holds `text` whatever it is, also in a table.

    >>> code("a|b"), code("tick`s"), code("")
    ('`a\\|b`', '`` tick`s ``', '` `')
    """
    text = _shortened(text, width)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or "`" in text or not text else ""
    inner = f"{pad}{text}{pad}" if text else pad
    return f"{fence}{inner}{fence}".replace("|", "\\|")


def words(text: str, width: int = 400) -> str:
    r"""Running text with nothing in it that would be interpreted, but for code spans of plain characters.

    >>> words("<b>*x*</b> [l](u) a|b")
    '&lt;b&gt;\\*x\\*&lt;/b&gt; \\[l\\](u) a\\|b'
    >>> words("run `pulumi destroy -s my_stack`, `<b>`")
    'run `pulumi destroy -s my_stack`, \\`&lt;b&gt;\\`'
    """
    text = _shortened(_ARN.sub("arn:...", text), width)
    parts = _SPAN.split(text)  # every second one is a span
    return "".join(part if number % 2 else _inert(part) for number, part in enumerate(parts))


def _inert(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _MARKDOWN.sub(r"\\\1", text)
    text = _REFERENCE.sub(rf"\1{_BREAK}", text)
    return _LINK.sub(lambda match: match[0][:-1] + _BREAK + match[0][-1], text)


def html(text: str, width: int = 80) -> str:
    """Text inside HTML of a comment, where Markdown is not read but mentions are.

    >>> html("<img src=x> & co")
    '&lt;img src=x&gt; &amp; co'
    """
    text = _shortened(_ARN.sub("arn:...", text), width)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return _REFERENCE.sub(rf"\1{_BREAK}", text)


def marker(text: str) -> str:
    """What may stand inside an HTML comment.

    >>> marker("a--> b")
    'a-b'
    """
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9_./,-]+", "", text)).strip("-")


def _shortened(text: str, width: int) -> str:
    text = " ".join(_CONTROL.sub(" ", text).split())
    return text if len(text) <= width else f"{text[: width - 3]}..."
