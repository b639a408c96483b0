"""A case id is a case's whole identity: what is printed, what filters, and the seed of its data."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from conformance.cases.launch import OUTPUT_POISON_BYTES
from conformance.reading import shortened

_ID = re.compile(r"(?P<kernel>\w+)\((?P<fields>.*)\)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_FIELD = re.compile(r"(?P<key>\w+)=(?P<value>\[[^\]]*\]|[^,\[\]]*)(?:,|$)")

MOST_CHARACTERS = 1000
"""The length of a case id that is read; generated ones have less than a quarter (``tests/cases/test_matrix.py``)."""


@dataclass(frozen=True)
class Case:
    """``kernel`` and ordered ``fields``, such as ``(("shape", "[3,5,7]"), ("layout", "transposed"))``."""

    kernel: str
    fields: tuple[tuple[str, str], ...]

    @cached_property
    def id(self) -> str:
        """``uexp_f32(shape=[3,5,7],layout=transposed)``: printed, matched by patterns, and hashed for the data."""
        return f"{self.kernel}({self.text})"

    @property
    def text(self) -> str:
        """The fields as an id has them between its brackets."""
        return ",".join(f"{key}={value}" for key, value in self.fields)

    def get(self, key: str, default: str | None = None) -> str:
        """The text of field ``key``; raises ``ValueError`` naming the case when it is absent and has no default."""
        for name, value in self.fields:
            if name == key:
                return value
        if default is None:
            raise ValueError(f"case {self.id}: field {key!r} is missing")
        return default

    def integers(self, key: str, default: str | None = None) -> tuple[int, ...]:
        """Field ``key`` as a tuple of integers: ``[3,5,7]`` or ``[]``; raises ``ValueError`` on other text."""
        text = self.get(key, default)
        if not (text.startswith("[") and text.endswith("]")):
            raise ValueError(f"case {self.id}: field {key!r} must be a list such as [3,5,7], not {text!r}")
        parts = [part for part in text[1:-1].split(",") if part]
        if not all(_INTEGER.fullmatch(part) for part in parts):
            raise ValueError(
                f"case {self.id}: field {key!r} holds something other than integers of at most 18 digits: {text!r}"
            )
        return tuple(map(int, parts))

    def seed(self, salt: str = "") -> int:
        """A 128-bit seed made of the id (and of ``--seed-salt``): the same bytes on any machine."""
        return int.from_bytes(hashlib.sha256(f"{salt}|{self.id}".encode()).digest()[:16], "little")

    @cached_property
    def poison_byte(self) -> int:
        """What every byte of an output holds before the launch: by the id alone, whatever the salt."""
        return OUTPUT_POISON_BYTES[self.seed() % len(OUTPUT_POISON_BYTES)]

    @classmethod
    def parse(cls, text: str) -> Case:
        """The case that ``text`` is the id of; raises ``ValueError`` when it is not one."""
        if len(text) > MOST_CHARACTERS:
            raise ValueError(f"{shortened(text)!r} is not a case id; one has at most {MOST_CHARACTERS} characters")
        match = _ID.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a case id; expected KERNEL(field=value,...)")
        try:
            return cls(match["kernel"], parse_fields(match["fields"]))
        except ValueError as error:
            raise ValueError(f"{text!r} is not a case id: {error}") from None


@lru_cache(maxsize=4096)  # rows of the tables are the same for many kernels
def parse_fields(text: str) -> tuple[tuple[str, str], ...]:
    """The fields that ``shape=[3,5,7],layout=transposed`` names, in order; raises ``ValueError`` for other text."""
    fields: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        item = _FIELD.match(text, position)
        if item is None:
            raise ValueError(f"cannot read {text[position:]!r} as field=value")
        fields.append((item["key"], item["value"]))
        position = item.end()
    return tuple(fields)
