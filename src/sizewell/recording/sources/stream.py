"""Read a large JSON file piece by piece: what is walked over is not kept.

A preview of 20,000 resources is over 100 MB of text, most of it stack traces; only one element is in memory at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

_CHUNK = 1 << 18
_SPACE = " \t\r\n"


class MalformedError(ValueError):
    """The text is not JSON, or ends too early."""


class JsonStream:
    """A cursor over the text of one JSON document.

    Each value must be consumed, by `value`, `members` or `items`, before the cursor moves on.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._ended = False
        self._decode = json.JSONDecoder(strict=False).raw_decode

    def peek(self) -> str:
        """The next character that is not white space; "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def value(self) -> Any:
        """The whole next value."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except ValueError as error:
                if self._more():
                    continue
                raise MalformedError(str(error)) from None
            if end == len(self._text) and self._more():  # a number may go on
                continue
            self._at = end
            return value

    def members(self) -> Iterator[str]:
        """The keys of the next object, one by one; the caller consumes each value."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise MalformedError(f"a key is not a string: {key!r}")
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def items(self) -> Iterator[Any]:
        """The elements of the next array, each as a whole value."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        while True:
            yield self.value()
            if self._take(",]") == "]":
                return

    def _take(self, allowed: str) -> str:
        character = self.peek()
        if not character:
            raise MalformedError("the text ends too early")
        if character not in allowed:
            raise MalformedError(f"expected one of {allowed!r}, found {character!r}")
        self._at += 1
        return character

    def _more(self) -> bool:
        if self._ended:
            return False
        # A value longer than what is held is read in growing steps, so that retries stay linear in sum.
        chunk = self._file.read(max(_CHUNK, len(self._text) - self._at))
        self._text = self._text[self._at :] + chunk
        self._at = 0
        self._ended = not chunk
        return bool(chunk)
