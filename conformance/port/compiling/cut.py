"""A source's text without the kernels that nobody asked for: what is compiled where a few kernels are judged.

Kernels are cut out by the lines on which they are defined, and every line keeps its number. Everything else stays:
other functions, headers, kernels whose names are mangled, kernels that something left in the text names, and whatever
the scanner does not see. So the text may define more kernels than were asked for, never fewer of those that it knows.

A cut is a guess about C++ that saves a compiler's time. Whoever compiles a cut text takes from it only the kernels that
it finds there, and compiles the whole source for all others: a cut decides no verdict.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.cache import ObjectFolder
from conformance.files import cache_folder
from conformance.port.compiling.declared_names import outside_attributes
from conformance.port.compiling.units import TOKEN, Unit, units
from conformance.port.definitions.mentioned import mentioned
from conformance.port.definitions.scan import Declaration, scan_source
from conformance.port.definitions.source_text import read_source
from conformance.port.options import BuildOptions, is_cuda
from conformance.port.sources import KernelSource, SourceError

_VERSION = 1
"""Of what is kept of a source: another one is read anew."""

_MOST_BYTES = 16 << 20
"""Of all that is kept; the oldest go first."""

_LONGEST = 4 << 20
"""Characters of the longest text that is cut: reading it takes as long as what a cut saves, and memory."""

_SECONDS = 30.0
"""A process waits so long for another one that reads the same source."""

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|import)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """Kernels that are defined on the same lines, for example by one use of a macro. They are cut out together.

    They are the characters from ``start`` to ``end`` of the text, and name the kernels ``uses``.
    """

    kernels: tuple[str, ...]
    start: int
    end: int
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cuts:
    """What can be cut out of ``text``: its ``blocks``, in order. ``always`` are kernels that the rest of the text
    names.

    ``shared`` says that device code may change a global variable. Kernels that are compiled apart each have a copy of
    it. That makes no difference for constants, but it does for what one kernel leaves there for another.
    """

    text: str
    blocks: tuple[Block, ...]
    always: frozenset[str] = frozenset()
    shared: bool = False

    @property
    def kernels(self) -> frozenset[str]:
        """The kernels that can be cut out."""
        return frozenset(name for block in self.blocks for name in block.kernels)

    def text_for(self, kernels: Collection[str]) -> str:
        """The text with ``kernels`` and what they need, without the other kernels."""
        left = self._left(kernels)
        pieces, done = list[str](), 0
        for block in self.blocks:
            if block not in left:
                pieces += [self.text[done : block.start], _blanked(self.text[block.start : block.end])]
                done = block.end
        # Spaces and empty lines at the end would tell apart texts that are compiled to the same code.
        return "".join((*pieces, self.text[done:])).rstrip() + "\n"

    def _left(self, kernels: Collection[str]) -> frozenset[Block]:
        """The blocks that have ``kernels``, and those that these name, directly or not."""
        owner = {name: block for block in self.blocks for name in block.kernels}
        left: set[Block] = set()
        waiting = [owner[name] for name in (*kernels, *self.always) if name in owner]
        while waiting:
            block = waiting.pop()
            if block not in left:
                left.add(block)
                waiting += [owner[name] for name in (*block.uses, *block.kernels) if name in owner]
        return frozenset(left)


def cuts_of(source: KernelSource, options: BuildOptions) -> Cuts | None:
    """What can be cut out of ``source``; ``None`` where it cannot be read for that, or has nothing to cut out.

    Reading takes a preprocessor and a tenth of a second. The result is kept in the cache, by the texts of the source
    and of all files that it mentions, and by the options.
    """
    if source.is_code_object:
        return None
    try:
        text = source.text()
        if len(text) > _LONGEST:
            return None
        blocks, always, shared = _read(source, text, options)
    except (SourceError, OSError, LookupError, ValueError, RecursionError):
        # Who compiles it says what is wrong with it, and a compiler may understand what the scanner does not.
        return None
    return Cuts(text, blocks, always, shared) if blocks else None


_Read = tuple[tuple[Block, ...], frozenset[str], bool]
"""The fields of ``Cuts`` but the text."""


def _read(source: KernelSource, text: str, options: BuildOptions) -> _Read:
    """What can be cut out of ``text``: as it is kept, or read by one process while the others wait for it."""
    key = _key(source, text, options)
    kept = _kept(key)
    if kept is not None:
        return kept
    folder = _folder()
    with folder.turn(key, _SECONDS) as ours:
        kept = _kept(key) if ours else None
        if kept is None:
            kept = _blocks(source, text, options)
            if ours:
                folder.keep(key, _packed(kept))
    return kept


def _blocks(source: KernelSource, text: str, options: BuildOptions) -> _Read:
    """What can be cut out of ``source``, whose text is ``text``; raises ``SourceError``."""
    own = source.path.resolve()
    declarations = scan_source(source, options).declarations

    def read(file: Path) -> str:
        return text if file == own else read_source(file)

    every = units(declarations, read)
    units_to_cut = [unit for unit in every if unit.file == own and _can_be_cut(unit) and not _includes(unit, text)]
    names = {name for unit in units_to_cut for name in unit.kernels}
    own_names = [(unit, _names_in(unit.members)) for unit in units_to_cut]
    # In the order of the text, which is that of the file: units are sorted by their lines.
    blocks = tuple(
        Block(tuple(unit.kernels), *_place(unit), tuple(sorted((used & names) - unit.kernels.keys())))
        for unit, used in own_names
    )
    stay = [each for each in declarations if Path(each.tokens[0].file).resolve() != own]
    # By the text too: a use may stand in the branch of an #if, or in a macro, that the scanner does not go into.
    prototypes = [unit for unit in every if unit.file == own and all(map(_is_prototype, unit.members))]
    gone = sorted([_place(unit) for unit in (*units_to_cut, *prototypes) if unit.region is not None])
    always = (_names_in(stay) | _words_between(text, gone)) & names
    return blocks, frozenset(always), any(map(_shares_a_variable, declarations))


def _can_be_cut(unit: Unit) -> bool:
    """Whether ``unit`` is nothing but kernels with plain names, as the scanner sees them and as they are spelled."""
    kernels = [each.kernel for each in unit.members]
    plain = all(kernel is not None and kernel.extern_c and not kernel.template for kernel in kernels)
    if not plain or unit.region is None:
        return False
    # More of them than the scanner has seen: some are for other targets, and who asks for these must find them.
    return sum(word.text == "__global__" for word in unit.region) <= len(kernels)


def _includes(unit: Unit, text: str) -> bool:
    """Whether a file is included inside of ``unit``: the directive would stay, where the file's text has no place."""
    start, end = _place(unit)
    return _INCLUDE.search(text, start, end) is not None


def _place(unit: Unit) -> tuple[int, int]:
    assert unit.region is not None
    return unit.region[0].start, unit.region[-1].end


def _is_prototype(declaration: Declaration) -> bool:
    """Whether it declares a kernel and does not define one: it is no use of the kernel."""
    tokens = [token.text for token in declaration.tokens]
    return declaration.body is None and "__global__" in tokens and tokens[0] != "template" and "=" not in tokens


def _names_in(declarations: Sequence[Declaration]) -> set[str]:
    """The words of ``declarations``, also of strings: assembly and attributes name symbols there."""
    texts = {token.text for each in declarations if not _is_prototype(each) for token in each.tokens}
    return {word for text in texts for word in _WORD.findall(text)}


def _words_between(text: str, places: Sequence[tuple[int, int]]) -> set[str]:
    """The words of ``text`` outside of ``places`` and of comments, with those of directives."""
    starts, ends = [start for start, _ in places], [end for _, end in places]
    pieces = [text[begin:end] for begin, end in zip([0, *ends], [*starts, len(text)], strict=True)]
    words = (match[0] for match in TOKEN.finditer("\n".join(pieces)))
    return {word for piece in words if not piece.startswith(("//", "/*")) for word in _WORD.findall(piece)}


def _shares_a_variable(declaration: Declaration) -> bool:
    """Whether it is, or holds, a variable of the device that code of the device may change."""
    tokens = outside_attributes([token.text for token in declaration.tokens])
    head = _to_its_end(tokens)
    if not {"__device__", "__managed__"}.isdisjoint(head) and _is_variable(head):
        return True
    statics = (at for at, token in enumerate(tokens) if token == "static")
    return any(_is_variable(_to_its_end(tokens[at:])) for at in statics if at > 0 or "{" in tokens)


def _to_its_end(tokens: Sequence[str]) -> Sequence[str]:
    return tokens[: next((at for at, token in enumerate(tokens) if token in ("=", "{", ";")), len(tokens))]


def _is_variable(head: Sequence[str]) -> bool:
    """Whether what begins with ``head`` is no function, and not constant or of a block's own."""
    if {"class", "struct", "union", "enum", "using", "typedef", "friend", "operator"} & set(head):
        return False
    after_pointer = head[max((at for at, token in enumerate(head) if token == "*"), default=-1) + 1 :]
    constant = {"const", "constexpr", "__constant__"} & set(after_pointer) or "constexpr" in head
    return not constant and "(" not in head and "__shared__" not in head


def _blanked(text: str) -> str:
    """The line breaks and directives of ``text``; pragmas of statements go with the statements."""
    return "".join(_left_of(text)) if "\n" in text else " "


def _left_of(text: str) -> Iterator[str]:
    done = 0
    for match in TOKEN.finditer(text):
        yield "\n" * text.count("\n", done, match.start())
        is_directive = match["kept"] is not None and not match[0].startswith(("//", "/*"))
        yield match[0] if is_directive else "\n" * match[0].count("\n")
        done = match.end()
    yield "\n" * text.count("\n", done)


# ---- what is kept of a source


def _key(source: KernelSource, text: str, options: BuildOptions) -> str:
    """Of what decides the blocks: the text, what it includes, and the options."""
    folders = (source.path.parent, *options.include_dirs, source.root)
    digest = hashlib.sha256(f"{_VERSION}\0{options}\0{is_cuda(source, options)}\0{source.path}\0".encode())
    digest.update(text.encode("utf-8", "surrogateescape"))
    for file in mentioned([source.path, *options.forced], folders, "\n".join(options.defines)).files:
        digest.update(f"\0{file}\0".encode("utf-8", "surrogateescape") + file.read_bytes())
    return digest.hexdigest()[:32]


def _folder() -> ObjectFolder:
    return ObjectFolder(cache_folder() / "cuts", "read", _MOST_BYTES)


def _kept(key: str) -> _Read | None:
    content = _folder().read(key)
    if content is None:
        return None
    row = json.loads(content)
    blocks = (Block(tuple(one["kernels"]), one["start"], one["end"], tuple(one["uses"])) for one in row["blocks"])
    return tuple(blocks), frozenset(row["always"]), bool(row["shared"])


def _packed(read: _Read) -> bytes:
    blocks, always, shared = read
    row = {"blocks": [asdict(block) for block in blocks], "always": sorted(always), "shared": shared}
    return json.dumps(row).encode()
