"""Which Rust sources, and which functions in them, belong to one backend of a Candle checkout."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from conformance.reading import read_bytes
from conformance.upstream.checkout import CheckoutError
from conformance.upstream.wiring.index import Index
from conformance.upstream.wiring.items import Function, cfg_attributes
from conformance.upstream.wiring.modules import is_test, test_files
from conformance.upstream.wiring.syntax import RustError, first_error, line_of, parse, read_rust, text_of, walk

LOADS = (
    *("get_or_load_func", "get_or_load_function", "get_or_load_kernel", "load_kernel", "get_kernel", "load_func"),
    *("get_function", "load_function", "hipModuleGetFunction", "cuModuleGetFunction"),
)
"""The functions that load a kernel by its name, in Candle's backend and in those shaped like it, and in drivers."""

_CORE = Path("candle-core/src")
_MAIN = ("candle-core", "candle-nn")
_FOLDER = re.compile(r"\b(\w+)_backend\b")
_FEATURE = re.compile(r'(?<!not\()feature\s*=\s*"(\w+)"')
_NOT = re.compile(r"not\s*\([^()]*\)")
_FAMILIES = {"hip": "rocm", "cudarc": "cuda", "candle_kernels": "cuda"}
_BACKENDS = frozenset(("cuda", "rocm", "metal", "cpu", "wgpu", "vulkan"))


@dataclass
class Reach:
    """The items in reach of a backend, its functions, and the files that mention a load.

    ``partial`` are places in files without loads that the parser could not read.
    """

    index: Index
    functions: list[Function]
    loads: frozenset[str]
    files: list[tuple[str, Node]]
    partial: tuple[str, ...]

    def mentions(self, loaders: frozenset[str]) -> dict[str, str]:
        """The place of each mention of a load or of one of ``loaders``, with the function round it (empty outside any).

        This backend's only. Definitions of loads, imports, and the bodies of macros that were expanded elsewhere do not
        count: call this when everything is expanded.
        """
        found: dict[str, str] = {}
        for label, root in self.files:
            if _holds(root, self.loads | loaders):
                found |= self._mentions(label, root, loaders)
        return found

    def _mentions(self, label: str, root: Node, loaders: frozenset[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        here = [one for one in self.functions if one.unit.label == label and one.unit.line is None]
        every = [one for known in self.index.functions.values() for one in known if one.unit.label == label]
        others = [one for one in every if one not in here]
        for node in _calls(root, self.loads | loaders):
            if text_of(node) not in self.loads and not _may_call(node, self.index.functions[text_of(node)]):
                continue
            macro = _within(node, "macro_definition")
            if macro is not None and macro.id in self.index.expanded:
                continue
            mine = _around(node, here)
            if mine is None and _around(node, others) is not None:
                continue
            if self.index.serves(_attributes(node)):
                found[f"{label}:{line_of(node)}"] = mine.name if mine is not None else ""
        return found


def backend_folder(candle: Path, backend: str) -> Path:
    """The folder of a backend: a name below candle-core/src, or a path. Raises ``CheckoutError``."""
    if not candle.is_dir():
        raise CheckoutError(f"{candle} is not a folder; give the root of a Candle checkout")
    core = candle / _CORE
    if not core.is_dir():
        raise CheckoutError(f"{candle} holds no folder {_CORE}; give the root of a Candle checkout")
    for folder in (core / backend, Path(backend), candle / backend):
        if folder.is_dir() and any(folder.rglob("*.rs")):
            return folder
    present = sorted(path.name for path in core.iterdir() if path.is_dir() and path.name.endswith("_backend"))
    raise CheckoutError(
        f"no backend {backend!r}: {core / backend} is not a folder with .rs files; "
        f"this checkout has {', '.join(present) or 'none'}"
    )


def read_sources(candle: Path, folder: Path, loads: frozenset[str]) -> Reach:
    """Reads what belongs to the backend in ``folder``; raises ``RustError`` and ``CheckoutError``."""
    stem = folder.name.removesuffix("_backend")
    mine = _FAMILIES.get(stem, stem)
    index = Index()
    files: list[tuple[str, Node]] = []
    partial: list[str] = []
    for path in _files(candle, folder, mine, loads):
        label = _label(candle, path)
        source = read_rust(path)
        root = parse(source)
        wrong = first_error(root)
        matters = folder in path.parents or any(load.encode() in source for load in loads)
        if wrong is not None:
            if matters:
                raise RustError(path, line_of(wrong), "is not valid Rust; correct the syntax there")
            partial.append(f"{label}:{line_of(wrong)}")
        try:
            index.add(label, root)
        except RecursionError:
            raise RustError(path, None, "is nested too deep to be analysed; check the file out anew") from None
        files.append((label, root))
    index.finish()
    inside = _label(candle, folder)
    every = [one for known in index.functions.values() for one in known]
    index.serves = lambda attributes: _belongs(attributes, "", mine, inside)
    tests = test_files(files)
    index.foreign |= {
        id(one)
        for one in every
        if one.unit.label in tests
        or is_test("\n".join(one.uses))
        or not _belongs(one.uses, one.unit.label, mine, inside)
    }
    functions = _called(
        [one for one in every if one.name not in loads and id(one) not in index.foreign], (*_MAIN, inside)
    )
    if not any(_holds(root, loads) and next(_calls(root, loads), None) for _, root in files):
        listed = ", ".join(sorted(loads))
        raise CheckoutError(f"nothing in reach of {folder} calls {listed}; name its function with --load")
    return Reach(index, functions, loads, files, tuple(partial))


def _holds(root: Node, names: frozenset[str]) -> bool:
    text = root.text or b""
    return any(name.encode() in text for name in names)


def _calls(root: Node, loads: frozenset[str]) -> Iterator[Node]:
    """Every mention of a load that is neither its definition nor an import."""
    for node in walk(root):
        if node.type in ("identifier", "field_identifier") and text_of(node) in loads:
            parent = node.parent
            definition = parent is not None and parent.type in ("function_item", "function_signature_item")
            if not definition and _within(node, "use_declaration") is None:
                yield node


def _label(candle: Path, path: Path) -> str:
    root, here = candle.resolve(), path.resolve()
    return here.relative_to(root).as_posix() if here.is_relative_to(root) else here.as_posix()


def _files(candle: Path, folder: Path, mine: str, loads: frozenset[str]) -> list[Path]:
    """Core and nn, other crates where they load kernels, and the backend's folder; no other backend's."""
    chosen: dict[Path, None] = {}
    others: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(candle.glob("candle-*/src/**/*.rs")):
        parts = path.relative_to(candle).parts
        elsewhere = any(part.removesuffix(".rs").endswith("_backend") for part in parts) and folder not in path.parents
        if elsewhere or (path.name.startswith("dummy_") and "backend" in path.name):
            continue
        if parts[0] in _MAIN:
            chosen[path] = None
        elif mine in set(parts[0].split("-")) & _BACKENDS or not set(parts[0].split("-")) & _BACKENDS:
            others[parts[0]].append(path)
    for crate in others.values():
        if any(load.encode() in _content(path) for path in crate for load in loads):
            chosen |= dict.fromkeys(crate)
    for path in sorted(folder.rglob("*.rs")):
        chosen[path] = None
    return list(chosen)


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as cause:
        raise RustError(path, None, f"cannot be read ({cause.strerror})") from None


def _belongs(uses: Sequence[str], label: str, mine: str, inside: str) -> bool:
    """Whether a function is the backend's: by its folder, else by the nearest ``use`` or ``cfg`` that names one."""
    if label.startswith(f"{inside}/"):
        return True
    for text in reversed(uses):
        plain = _NOT.sub("", text)
        named = {*_FOLDER.findall(plain), *_FEATURE.findall(plain), *(w for w in _FAMILIES if w in plain)}
        families = {_FAMILIES.get(name.removesuffix("_backend"), name.removesuffix("_backend")) for name in named}
        families &= _BACKENDS | {mine}
        if families:
            return mine in families
    return True


def _called(functions: Sequence[Function], main: Sequence[str]) -> list[Function]:
    """``functions`` without those of other crates than ``main`` that nothing in those calls, directly or not."""
    folders = tuple(f"{folder}/" for folder in main)
    kept = {id(one): one for one in functions if one.unit.label.startswith(folders)}
    waiting = list(kept.values())
    while waiting:
        calls = frozenset().union(*(one.calls for one in waiting))
        waiting = [one for one in functions if id(one) not in kept and one.called_as & calls]
        kept |= {id(one): one for one in waiting}
    return [one for one in functions if id(one) in kept]


def _may_call(node: Node, known: Sequence[Function]) -> bool:
    """Whether a name is where one of ``known`` is called, by the number of arguments, or handed to another function."""
    outer = node.parent
    while outer is not None and outer.type in ("field_expression", "scoped_identifier", "generic_function"):
        node, outer = outer, outer.parent
    if outer is None or outer.type != "call_expression":
        return outer is not None and outer.type == "arguments" and node.type in ("identifier", "scoped_identifier")
    given = outer.child_by_field_name("arguments")
    count = len([child for child in given.named_children if "comment" not in child.type]) if given is not None else 0
    method = node.type == "field_expression"
    return any(count == len(one.params) + (one.has_self and not method) for one in known if one.has_self or not method)


def _attributes(node: Node) -> list[str]:
    """The attributes of what ``node`` stands in, the outermost first."""
    found: list[str] = []
    outer: Node | None = node
    while outer is not None:
        found.append("\n".join(cfg_attributes(outer)))
        outer = outer.parent
    return found[::-1]


def _within(node: Node, kind: str) -> Node | None:
    parent = node.parent
    while parent is not None and parent.type != kind:
        parent = parent.parent
    return parent


def _around(node: Node, functions: Sequence[Function]) -> Function | None:
    """The innermost of ``functions`` that ``node`` lies in."""
    inside = [one for one in functions if one.node.start_byte <= node.start_byte < one.node.end_byte]
    return max(inside, key=lambda one: one.node.start_byte, default=None)
