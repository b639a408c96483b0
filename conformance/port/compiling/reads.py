"""The files that compilers have read for an object, as they report them: lean, for every compiling process has it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.toolchains.make_rules import prerequisites

VARIABLE = "HIPCPU_READS"
"""Names the file that the cpu runtime's hiprtc writes its reports to (``runtimes/cpu/hiprtc/reads.h``)."""

OF_FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
"""Variables with folders that compilers search for headers after those of the options, separated by colons."""

_FIELDS = 4
_NOT_LISTED = "?"


@dataclass
class Reads:
    """What was read for one object by all its compilations, those that failed among them.

    ``files`` are names as the compilers say them, relative ones to the folder that they worked in. ``listed`` is false
    where a compiler does not say what it reads. ``hidden`` says that files may have been read that no list shows.
    """

    files: dict[str, None] = field(default_factory=dict)
    listed: bool = True
    hidden: bool = False

    def add(self, files: Iterable[str], but: Iterable[str] = ()) -> None:
        """Take note of ``files``, but those in the folders ``but``."""
        left_out = tuple(f"{folder}/" for folder in but)
        self.files |= {file: None for file in files if not file.startswith(left_out)}

    def add_reports(self, reports: bytes) -> None:
        """Take note of what the cpu runtime's hiprtc has reported; of another one there is nothing."""
        parts = reports.decode("utf-8", "surrogateescape").split("\0")[:-1]
        self.listed = self.listed and bool(parts)
        for at in range(0, len(parts) - _FIELDS + 1, _FIELDS):
            *own, rule = parts[at : at + _FIELDS]
            self.hidden = self.hidden or rule == _NOT_LISTED
            self.add(prerequisites(rule), own)

    def merge(self, answer: Any) -> None:
        """Take note of what a compiling process answers: the map that ``as_answer`` made."""
        self.add(file.decode("utf-8", "surrogateescape") for file in answer["files"])
        self.listed = self.listed and answer["listed"]
        self.hidden = self.hidden or answer["hidden"]

    def as_answer(self) -> dict[str, Any]:
        """As plain data, for a message between processes."""
        files = [file.encode("utf-8", "surrogateescape") for file in self.files]
        return {"files": files, "listed": self.listed, "hidden": self.hidden}


def absolute_folders(folders: str) -> str:
    """A variable's list of ``folders`` for a compiler that works in another folder; an empty one is the working one."""
    return os.pathsep.join(map(os.path.abspath, folders.split(os.pathsep)))
