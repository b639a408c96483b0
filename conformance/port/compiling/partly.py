"""Compiling what is left of a source when the definitions that do not compile are taken out.

The errors of a compiler lead to definitions in the source or its headers; those are taken out, and the rest is compiled
again, until it compiles or no error leads to a definition any more. What is left is never changed.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from conformance.port.compiling.diagnostics import Diagnostic, diagnostics
from conformance.port.compiling.units import Unit, Way, can_be_refused, unit_at, units, without
from conformance.port.definitions.scan import scan_source
from conformance.port.definitions.source_text import SourceError, read_source
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource

Code = TypeVar("Code")

PARTS = 4
"""Which version of this decides what is taken out: a part of the key of what is kept."""

_TURNS = 400
"""Compilations of one source; time ends it first."""

_NAMED = 3
"""Kernels that are named in a sentence."""

_WHAT = re.compile(r"(?<=: )error\b[^:]*: .*$")
_UNNAMED = "deleted function"
_USES = ", which it uses)"
_NOTES = re.compile(r" \[-W[^\]]*\]$")


class Broken(NamedTuple):
    """A kernel that does not compile, in a source of which the rest does: the place of its definition, and the
    compiler's error."""

    place: str
    why: str


class TextRefused(Exception):
    """A compiler refuses a text; it has the log."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


Compile = Callable[[str, Sequence[str], float], Code]
"""Compiles a text of the source with further options within so many seconds; raises ``TextRefused``."""


def compile_partly(
    source: KernelSource,
    options: BuildOptions,
    log: str,
    compile_text: Compile[Code],
    seconds: float,
    launchers: bool = False,
) -> tuple[Code, dict[str, Broken]] | None:
    """What ``compile_text`` makes of ``source`` without the kernels that do not compile, and those kernels.

    With ``launchers`` other functions with C linkage are left out like kernels. ``log`` is that of the compiler that
    refused the whole source. ``None`` where the errors lead to no definition (a missing header, brackets that do not
    match), where no kernel needs what is broken, or where ``seconds`` are over.
    """
    end = time.monotonic() + seconds
    try:
        taking = _Taking(source, options, launchers)
    except (SourceError, OSError):
        return None
    for _ in range(_TURNS):
        if not taking.blame(diagnostics(log)) or time.monotonic() > end:
            return None
        with tempfile.TemporaryDirectory(prefix="candle-parity-") as folder:
            text, flags = taking.edited(Path(folder))
            if text is None:
                return None
            try:
                code = compile_text(text, flags, max(1.0, end - time.monotonic()))
            except TextRefused as refused:
                log = refused.log
                continue
        broken = taking.broken()
        return (code, broken) if broken else None
    return None


def overlaid(texts: Mapping[Path, str], folder: Path) -> list[str]:
    """Options that have clang read ``texts`` in place of the files with these paths. The texts are written to
    ``folder``."""
    if not texts:
        return []
    roots: list[dict[str, str]] = []
    for file, text in texts.items():
        copy = folder / f"{len(roots)}"
        copy.write_text(text, encoding="utf-8", errors="surrogateescape")
        roots.append({"name": str(file), "type": "file", "external-contents": str(copy)})
    overlay = folder / "overlay.yaml"
    overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}))
    return ["-ivfsoverlay", str(overlay)]


def _through(why: str, name: str) -> str:
    """What is wrong with a definition that uses ``name``, with which ``why`` is wrong."""
    return why if why.endswith(_USES) else f"{why} (in {name}{_USES}"


def _together(unit: Unit, wanted: Iterable[str], kernel: str) -> str:
    """That a kernel may be right itself, where it can only be taken out with the others ``wanted``."""
    others = sorted({*wanted} - {kernel})
    if not others:
        return ""
    first = others[:_NAMED] + ([f"{len(others) - _NAMED} more"] if len(others) > _NAMED else [])
    by = "on the same lines as" if unit.spells_kernels else "by the same macro use as"
    return f" (defined {by} {', '.join(first)}, and none of them is compiled without the others)"


class _Taking:
    """Which definitions of a source are taken out so far, how, and why."""

    def __init__(self, source: KernelSource, options: BuildOptions, launchers: bool) -> None:
        self._source = source
        self._launchers = launchers
        self._texts: dict[Path, str] = {}
        self._units = units(scan_source(source, options).declarations, self._text)
        self._taken: dict[Unit, Way] = {}
        self._why: dict[Unit, str] = {}
        self._lost = False

    def blame(self, errors: Sequence[Diagnostic]) -> bool:
        """Take out what ``errors`` lead to; whether that is anything new."""
        new = False
        for each in errors:
            if each.stops or self._lost:
                return False
            unit = self._unit(each)
            if unit is not None:
                new = self._take(unit, self._reason(unit, each)) or new
        return new and not self._lost

    def _unit(self, error: Diagnostic) -> Unit | None:
        """The outermost definition that an error comes from: of a template, what instantiates it."""
        for place in reversed(error.places):
            unit = unit_at(self._units, self._path(place.file), place.line)
            if unit is not None:
                return unit
        return None

    def _take(self, unit: Unit, why: str, way: Way | None = None) -> bool:
        """Take ``unit`` out, by default in the mildest way that is left, with all who would find something else."""
        if way is None:
            refused = unit.is_used and unit not in self._taken and can_be_refused(unit)
            way = "refused" if refused else "removed"
        if self._taken.get(unit) in (way, "removed"):
            return False
        self._taken[unit] = way
        self._why.setdefault(unit, why)
        if not unit.is_used:
            return True
        # What has the same name elsewhere (an overload, a header's) could be found in place of what is removed: nobody
        # who names it is compiled. What is refused is found, and does not compile, but where a template asks for that.
        if way == "removed":
            theirs = unit.specialises and not any(
                other is not unit and not other.specialises and other.names & unit.names for other in self._units
            )
            self._lost = self._lost or not unit.has_names or theirs
        through = _through(self._why[unit], ", ".join(sorted(unit.names)))
        for other in self._units:
            if other is unit or not other.mentions(unit.names):
                continue
            if other.depends_on(unit.names) if way == "removed" else other.probes(unit.names):
                self._take(other, through, "removed")
            elif way == "removed" and other not in self._taken:
                self._take(other, through)
        return True

    def _reason(self, unit: Unit, error: Diagnostic) -> str:
        """What is wrong with ``unit``: the error of what it uses, where that is known, else its own."""
        for other, why in self._why.items():
            known = (*other.names, *other.kernels)
            names = [name for name in known if re.search(rf"\b{re.escape(name)}\b", error.text)]
            if not names and _UNNAMED in error.text and unit.mentions(other.names):
                names = sorted(other.names)
            if other is not unit and names:
                return _through(why, names[0])
        place = error.places[0]
        if self._path(place.file) not in self._texts:
            # In a header of the compiler's, or of ours: the user's own line is what led there.
            own = next(place for place in error.places if self._path(place.file) in self._texts)
            what = _WHAT.search(_NOTES.sub("", error.text))
            return f"{self._label(self._path(own.file))}:{own.line}: {what[0] if what is not None else error.text}"
        text = error.text.removeprefix(place.file)
        text = f"{self._label(self._path(place.file))}{_NOTES.sub('', text)}"
        if unit_at([unit], self._path(place.file), place.line) is not None:
            return text
        return f"{text} (needed at {self._label(unit.file)}:{self._line_in(unit, error)})"

    def _line_in(self, unit: Unit, error: Diagnostic) -> int:
        mine = (place.line for place in reversed(error.places) if self._path(place.file) == unit.file)
        return next(mine, unit.first)

    def edited(self, folder: Path) -> tuple[str | None, list[str]]:
        """The source's text without what is taken out, and the options by which a compiler reads its headers so, which
        are written to ``folder``; no text where something cannot be cut out."""
        own = self._source.path.resolve()
        main = self._text(own)
        headers: dict[Path, str] = {}
        for file in dict.fromkeys(unit.file for unit in self._taken):
            text = without(self._text(file), {unit: way for unit, way in self._taken.items() if unit.file == file})
            if text is None:
                return None, []
            if file == own:
                main = text
                continue
            headers[file] = text
        return main, overlaid(headers, folder)

    def broken(self) -> dict[str, Broken]:
        """The kernels among what is taken out, and the launchers."""
        broken_kernels: dict[str, Broken] = {}
        for unit in self._taken:
            wanted = {**unit.kernels, **(unit.launchers if self._launchers else {})}
            for name, line in wanted.items():
                why = self._why[unit] + _together(unit, wanted, name)
                broken_kernels[name] = Broken(f"{self._label(unit.file)}:{line}", why)
        return broken_kernels

    def _path(self, file: str) -> Path:
        """The file that a compiler calls ``file``."""
        if file in (self._source.label, str(self._source.path)):
            return self._source.path.resolve()
        return Path(os.path.normpath(self._source.root.parent / file)).resolve()

    def _label(self, file: Path) -> str:
        return self._source.label if file == self._source.path.resolve() else self._source.label_of(str(file))

    def _text(self, file: Path) -> str:
        if file not in self._texts:
            self._texts[file] = read_source(file)
        return self._texts[file]
