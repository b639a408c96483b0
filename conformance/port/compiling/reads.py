"""The files that compilers have read for an object, as they report them: lean, for every compiling process has it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.toolchains.make_rules import prerequisites

VARIABLE = "HIPCPU_READS"
"""Names the file that the cpu runtime's hiprtc writes its reports to (``runtimes/cpu/hiprtc/reads.h``)."""

OF_FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
"""Variables with folders that compilers search for headers after those of the options, separated by colons."""

OF_OPTIONS = (
    *("HIPCPU_CXXFLAGS", "HIPCC_COMPILE_FLAGS_APPEND", "HIPRTC_COMPILE_OPTIONS_APPEND"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
)
"""Variables with options that compilers add to their own."""

_FOLDER = re.compile(r"(?P<option>-(?:I|isystem|iquote)\s*)(?P<folder>[^\s-]\S*)")

_FIELDS = 4
_NOT_LISTED = "?"


@dataclass
class Reads:
    """The files that were read for one object, by all its compilations, failed ones included.

    ``files`` are names as the compilers spell them; relative ones are relative to the folder in which they worked.
    ``listed`` is false where a compiler does not say what it reads. ``hidden`` says that files may have been read that
    no list shows.
    """

    files: dict[str, None] = field(default_factory=dict)
    listed: bool = True
    hidden: bool = False

    def add(self, files: Iterable[str], but: Iterable[str] = ()) -> None:
        """Add ``files``, except those in the folders ``but``."""
        left_out = tuple(f"{folder}/" for folder in but)
        self.files |= {file: None for file in files if not file.startswith(left_out)}

    def add_reports(self, reports: bytes) -> None:
        """Add what the cpu runtime's hiprtc reported; another hiprtc reports nothing."""
        parts = reports.decode("utf-8", "surrogateescape").split("\0")[:-1]
        self.listed = self.listed and bool(parts)
        for at in range(0, len(parts) - _FIELDS + 1, _FIELDS):
            *own, rule = parts[at : at + _FIELDS]
            self.hidden = self.hidden or rule == _NOT_LISTED
            self.add(prerequisites(rule), own)

    def merge(self, answer: Any) -> None:
        """Add what a compiling process answered: a map that ``as_answer`` made."""
        self.add(file.decode("utf-8", "surrogateescape") for file in answer["files"])
        self.listed = self.listed and answer["listed"]
        self.hidden = self.hidden or answer["hidden"]

    def as_answer(self) -> dict[str, Any]:
        """The same as plain data, for a message between processes."""
        files = [file.encode("utf-8", "surrogateescape") for file in self.files]
        return {"files": files, "listed": self.listed, "hidden": self.hidden}


def _absolute(folders: str) -> str:
    """A list of folders, of which an empty one is the working one."""
    return os.pathsep.join(map(os.path.abspath, folders.split(os.pathsep)))


def environment_folders() -> list[Path]:
    """The folders that variables of the environment have every compiler search for headers."""
    lists = (os.environ[name] for name in OF_FOLDERS if os.environ.get(name))
    folders = [folder for each in lists for folder in each.split(os.pathsep)]
    options = (os.environ.get(name, "") for name in OF_OPTIONS)
    folders += [match["folder"] for each in options for match in _FOLDER.finditer(each)]
    return [Path(os.path.abspath(folder)) for folder in folders]


def absolute_environment() -> dict[str, str]:
    """These variables with absolute paths, for a compiler that works in another folder."""
    variables = {name: _absolute(os.environ[name]) for name in OF_FOLDERS if os.environ.get(name)}
    for name in OF_OPTIONS:
        if os.environ.get(name):
            variables[name] = _FOLDER.sub(
                lambda match: match["option"] + os.path.abspath(match["folder"]), os.environ[name]
            )
    return variables
