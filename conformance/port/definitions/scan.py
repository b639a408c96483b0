"""From a source to the kernels, launchers and other declarations at namespace level that it defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from conformance.port.definitions.parameters import parameters
from conformance.port.definitions.preprocess import CUDA_DEFINES, HIP_DEFINES, Token, outer, preprocess, tokenize
from conformance.port.definitions.source_text import ScanError
from conformance.port.options import BuildOptions, is_cuda
from conformance.port.sources import KernelSource

_OPENING = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
_CLOSING = frozenset(_OPENING.values())
# Words after which a parenthesis belongs to an attribute, not to the parameters of the function.
_ATTRIBUTES = frozenset(
    ("__attribute__", "__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__declspec", "alignas", "noexcept")
)


class Param(NamedTuple):
    """A parameter of a kernel: its C type in words, and its name ("" where it has none).

    In ``const float *`` simple typedefs of the source are followed; ``__restrict__`` and default values are left out.
    """

    type: str
    name: str


@dataclass(frozen=True)
class Definition:
    """A ``__global__`` function with a body.

    ``file`` and ``line`` are the place of its name, and ``end_line`` is where its body ends. For a function that a
    macro makes both lines are that of the macro's use. ``extern_c`` says whether the symbol has the name as it is
    spelled here, ``template`` whether it is a template.
    """

    name: str
    file: Path
    line: int
    end_line: int
    params: tuple[Param, ...]
    extern_c: bool
    template: bool = False


@dataclass(frozen=True)
class Declaration:
    """A declaration at namespace level, from its first token to its last.

    ``body`` is the position of its first brace. ``kernel`` is set where it defines a kernel, ``launcher`` where it
    defines another function with C linkage.
    """

    tokens: Sequence[Token]
    body: int | None
    kernel: Definition | None
    launcher: Definition | None = None


@dataclass(frozen=True)
class Definitions:
    """What a source defines at namespace level, in order: kernels, other functions with a body, and all
    declarations."""

    kernels: list[Definition]
    functions: list[Definition]
    declarations: list[Declaration]


def find(tokens: Sequence[Token], path: Path) -> Definitions:
    """What ``tokens`` define. Raises ``ScanError`` where brackets do not match."""
    reader = _Reader(tokens, path)
    reader.read()
    return Definitions(reader.found, reader.functions, reader.declarations)


class _Reader:
    """Walks the declarations at namespace level; bodies and initialisers are stepped over."""

    def __init__(self, tokens: Sequence[Token], path: Path) -> None:
        self.tokens = tokens
        self.path = path
        self.found: list[Definition] = []
        self.functions: list[Definition] = []
        self.declarations: list[Declaration] = []
        self.aliases: dict[str, tuple[str, ...]] = {}
        # One entry per open namespace or linkage block: the block's first token, and whether C linkage holds in it.
        self.blocks: list[tuple[Token, bool]] = []
        self.declared_in_c: set[str] = set()

    def read(self) -> None:
        position = 0
        while position < len(self.tokens):
            text = self.tokens[position].text
            if text == "}":
                if not self.blocks:
                    raise self._error(self.tokens[position], "a closing brace that nothing opens")
                self.blocks.pop()
                position += 1
            elif text == ";":
                position += 1
            else:
                position = self._declaration(position)
        if self.blocks:
            raise self._error(self.blocks[-1][0], "a block that is never closed")

    def _declaration(self, start: int) -> int:
        """Reads the declaration that begins at ``start``; the position behind it, or inside a block it opens."""
        position = start
        opened: int | None = None
        while position < len(self.tokens):
            text = self.tokens[position].text
            if text == ";":
                self._alias(self.tokens[start:position])
                self._prototype(start, position)
                self._keep(start, position + 1, opened)
                return position + 1
            if text == "{":
                texts = [token.text for token in self.tokens[start:position]]
                if self._opens_block(texts):
                    in_c = texts == ["extern", '"C"'] or (self._in_c and texts[:1] != ["extern"])
                    self.blocks.append((self.tokens[start], in_c))
                    return position + 1
                end = self._behind(position)
                opened = position if opened is None else opened
                known = len(self.functions)
                if self._kernel(start, position, end - 1):
                    self._keep(start, end, opened, self.found[-1])
                    return end
                position = end
                # A function ends with its body; a class, an enum or an initialiser runs on to a semicolon.
                head = self._behind_templates(start) - start
                if not {"class", "struct", "union", "enum", "="} & set(outer(texts[head:])):
                    function = self.functions[-1] if len(self.functions) > known else None
                    launcher = function if function is not None and function.extern_c else None
                    self._keep(start, end, opened, launcher=launcher)
                    return position
            elif text in _OPENING:
                position = self._behind(position)
            elif text in _CLOSING:
                raise self._error(self.tokens[position], f"a {text} that nothing opens")
            else:
                position += 1
        raise self._error(self.tokens[start], "a declaration that does not end")

    def _keep(
        self,
        start: int,
        end: int,
        opened: int | None,
        kernel: Definition | None = None,
        launcher: Definition | None = None,
    ) -> None:
        body = None if opened is None else opened - start
        self.declarations.append(Declaration(self.tokens[start:end], body, kernel, launcher))

    @property
    def _in_c(self) -> bool:
        return bool(self.blocks) and self.blocks[-1][1]

    def _opens_block(self, texts: Sequence[str]) -> bool:
        if len(texts) == 2 and texts[0] == "extern":
            return texts[1].startswith('"')
        return "namespace" in texts[:2]

    def _behind(self, position: int) -> int:
        """The position behind the bracket that closes the one at ``position``."""
        waiting: list[int] = []
        for index in range(position, len(self.tokens)):
            text = self.tokens[index].text
            if text in _OPENING:
                waiting.append(index)
            elif text in _CLOSING:
                closes = _OPENING[self.tokens[waiting[-1]].text]
                if closes == "]]" and text == "]":
                    continue  # `]` of an index whose end was read as part of `]]`
                if text == "]]" and closes == "]":
                    # a[b[i]]: two single brackets
                    waiting.pop()
                    if not waiting or self.tokens[waiting[-1]].text != "[":
                        raise self._error(self.tokens[index], "a ]] that nothing opens")
                elif text != closes:
                    opened = self.tokens[waiting[-1]]
                    raise self._error(
                        self.tokens[index], f"a {text} where the {opened.text} of line {opened.line} is still open"
                    )
                waiting.pop()
                if not waiting:
                    return index + 1
        raise self._error(self.tokens[position], f"a {self.tokens[position].text} that is never closed")

    def _alias(self, tokens: Sequence[Token]) -> None:
        """Remembers ``typedef TYPE NAME`` and ``using NAME = TYPE`` of one named type."""
        texts = [token.text for token in tokens]
        if texts[:1] == ["typedef"] and len(texts) > 2 and all(token.is_word for token in tokens[1:]):
            self.aliases[texts[-1]] = tuple(texts[1:-1])
        elif texts[:1] == ["using"] and texts[2:3] == ["="] and all(token.is_word for token in tokens[3:]):
            self.aliases[texts[1]] = tuple(texts[3:])

    def _prototype(self, start: int, end: int) -> None:
        """Remembers the name of a function that is declared with C linkage: its definition has it too."""
        texts = [token.text for token in self.tokens[start:end]]
        if self._in_c or texts[:2] == ["extern", '"C"']:
            self.declared_in_c |= {before for before, word in pairwise(texts) if word == "("}

    def _kernel(self, start: int, body: int, end: int) -> bool:
        """Adds the kernel whose declaration is ``start`` to ``body`` and whose body ends at ``end``, if it is one."""
        position, is_global, extern_c, template = start, False, self._in_c, False
        while position < body:
            token = self.tokens[position]
            if token.text == "(":
                name = self.tokens[position - 1]
                close = self._behind(position)
                if name.text in _ATTRIBUTES:
                    position = close
                    continue
                if not name.is_word:
                    return False
                extern_c = extern_c or name.text in self.declared_in_c
                definition = self._definition(position, close - 1, end, extern_c, template)
                (self.found if is_global else self.functions).append(definition)
                return is_global
            if token.text == "template":
                template = True
                position = self._behind_angles(position + 1)
                continue
            if token.text == "[[":
                position = self._behind(position)
                continue
            is_global = is_global or token.text == "__global__"
            extern_c = extern_c or (token.text == '"C"' and self.tokens[position - 1].text == "extern")
            position += 1
        return False

    def _behind_templates(self, position: int) -> int:
        """The position behind ``template <...>``, as often as it stands there: its ``class`` declares no class."""
        while position < len(self.tokens) and self.tokens[position].text == "template":
            position = self._behind_angles(position + 1)
        return position

    def _behind_angles(self, position: int) -> int:
        depth = 0
        while position < len(self.tokens):
            text = self.tokens[position].text
            if text in ("(", "[", "{"):
                position = self._behind(position)
                continue
            depth += {"<": 1, ">": -1}.get(text, 0)
            position += 1
            if depth == 0:
                break
        return position

    def _definition(self, opening: int, closing: int, end: int, extern_c: bool, template: bool) -> Definition:
        name = self.tokens[opening - 1]
        inside = [token.text for token in self.tokens[opening + 1 : closing]]
        return Definition(
            name=name.text,
            file=Path(name.file),
            line=name.line,
            end_line=self.tokens[end].line,
            params=tuple(Param(kind, called) for kind, called in parameters(inside, self.aliases)),
            extern_c=extern_c,
            template=template,
        )

    def _error(self, token: Token, problem: str) -> ScanError:
        return ScanError(token.file or self.path, token.line, f"{problem}; the C++ is broken there or before")


Item = TypeVar("Item")
Result = TypeVar("Result")


def scan_file(
    path: Path,
    include_dirs: Sequence[Path] = (),
    defines: Sequence[str] = (),
    forced: Sequence[Path] = (),
    undefines: Sequence[str] = (),
    std: str | None = None,
) -> Definitions:
    """What the source ``path`` defines at namespace level, its headers included, in the order of the definitions.

    ``defines`` are ``NAME`` or ``NAME=VALUE``: ``CUDA_DEFINES`` or ``HIP_DEFINES``, and those of the user;
    ``undefines`` come after them. ``forced`` are headers that are included before the first line, ``std`` is the C++
    standard. A name that is defined twice is there twice. Raises ``ScanError``, with file and line, for a file that
    cannot be read, preprocessed or parsed.
    """
    source = preprocess(path, include_dirs, defines, forced, undefines, std)
    return find(tokenize(source.text, str(path), source.counts_raw), path)


def scan_source(source: KernelSource, options: BuildOptions, own: Sequence[str] | None = None) -> Definitions:
    """``scan_file`` for a port's ``source`` with its ``options``, as a compiler would read it.

    ``own`` are the macros that the compiler defines; by default those of the compiler that the source is for.
    """
    if own is None:
        own = CUDA_DEFINES if is_cuda(source, options) else HIP_DEFINES
    given = {define.partition("=")[0] for define in options.defines}
    defines = (*(define for define in own if define.partition("=")[0] not in given), *options.defines)
    folders = (source.path.parent, *options.include_dirs, source.root)
    return scan_file(source.path, folders, defines, options.forced, options.undefines, options.std)


def in_parallel(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> list[Result]:
    """``work(item)`` for each of ``items``, ``jobs`` at a time, in their order. When one raises, or the process is
    stopped, those that have not begun are given up."""
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
