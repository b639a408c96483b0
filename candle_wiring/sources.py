"""What a backend's sources are: its Rust files and the functions that count, kernels that its crates define, and the
launchers that its Rust names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tree_sitter import Node

from candle_wiring.index import Function, Index
from candle_wiring.macros import Macro, definitions, expanded
from conformance.reading import read_bytes
from conformance.spec.kernel import Kernel
from conformance.upstream.checkout import CheckoutError
from conformance.upstream.rust import (
    RustError,
    ancestors,
    attributes_of,
    field_of,
    first_error,
    line_of,
    parse,
    read_rust,
    text_of,
)

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
_TEST = re.compile(r"#\[test\]|\bcfg\(\s*(?:all\((?:[^()]*,)?\s*)?test\s*[,)]")
_PATH = re.compile(r'\bpath\s*=\s*"([^"]+)"')
_ROOTS = ("mod", "lib", "main")
_SUFFIXES = frozenset((".cu", ".cuh", ".hip", ".h", ".hpp"))
_COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_MOST = 8 << 20
_DECLARED = "ffi.rs"
"""The file with the declarations, which call nothing."""

_LEFT_OUT = frozenset(("target", "tests", "benches", "examples", ".git"))
_COMMENT = re.compile(r"//.*")


@dataclass
class Sources:
    """The items that belong to a backend, and the places that load a kernel.

    ``calls`` are the calls of loads that are followed, each with the function that contains it. ``others`` are mentions
    of loads that are no calls in a function, those in macros that nothing uses among them. ``partial`` are places in
    files without loads that the parser could not read.
    """

    index: Index
    loads: frozenset[str]
    calls: list[tuple[Node, Function]]
    others: list[tuple[str, str]]
    partial: tuple[str, ...]
    serves: Callable[[str], bool]


def backend_folder(candle: Path, backend: str) -> Path:
    """The folder of a backend, which is a name below candle-core/src or a path. Raises ``CheckoutError``."""
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


def read_sources(candle: Path, folder: Path, loads: frozenset[str]) -> Sources:
    """Read the sources that belong to the backend in ``folder``. Raises ``RustError`` and ``CheckoutError``."""
    stem = folder.name.removesuffix("_backend")
    mine, inside = _FAMILIES.get(stem, stem), _label(candle, folder)
    texts: dict[str, bytes] = {}
    macros: dict[str, dict[str, list[Macro]]] = defaultdict(lambda: defaultdict(list))  # by name and file
    partial: list[str] = []
    word = re.compile(rb"\b(?:" + b"|".join(re.escape(load.encode()) for load in loads) + rb")\b")
    for path in _files(candle, folder, mine, loads):
        label = _label(candle, path)
        source = texts[label] = read_rust(path)
        root = parse(source)
        wrong = first_error(root)
        if wrong is not None:
            if folder in path.parents or word.search(source):
                raise RustError(path, line_of(wrong), "is not valid Rust; correct the syntax there")
            partial.append(f"{label}:{line_of(wrong)}")
        for name, macro in definitions(root) if b"macro_rules" in source else ():
            macros[name][label].append(macro)
    index = Index()
    used: set[str] = set()
    for label, source in texts.items():

        def known(name: str, label: str = label) -> Sequence[Macro]:
            files = macros.get(name, {})
            return files.get(label) or [macro for found in files.values() for macro in found]

        try:
            index.add(label, *expanded(source, known, lambda text: word.search(text.encode()) is not None, used.add))
        except RecursionError:
            raise RustError(
                candle / label, None, "is nested too deep to be analysed; check the file out anew"
            ) from None
    every = [one for known_ones in index.functions.values() for one in known_ones]
    tests = _test_files({label: root for label, (_, root) in index.files.items()})
    index.foreign = {
        one
        for one in every
        if one.scope.label in tests
        or any(_is_test(mark) for mark in one.scope.marks())
        or not _belongs(one.scope.marks(), one.scope.label, mine, inside)
    }
    index.foreign |= {one for one in every if one not in index.foreign and not _called(index, one, (*_MAIN, inside))}
    calls: list[tuple[Node, Function]] = []
    others: list[tuple[str, str]] = []
    found = False
    for label, node in index.mentions(loads):
        around = [outer for outer, _ in ancestors(node)]
        outer = {one.type: one for one in around}
        parent = node.parent
        if "use_declaration" in outer or parent is None or parent.type in ("function_item", "function_signature_item"):
            continue
        found = True
        definition = outer.get("macro_definition")
        function = index.around(label, node)
        if (definition is not None and text_of(field_of(definition, "name")) in used) or label in tests:
            continue
        if function is not None and (function in index.foreign or function.name in loads):
            continue
        marks = [attribute for item in (node, *around) for attribute in attributes_of(item)]
        if any(_is_test(mark) for mark in marks) or not _belongs(marks, "", mine, inside):
            continue
        call = called_by(node)
        if call is not None and function is not None and definition is None:
            calls.append((call, function))
        else:
            within = f"in {function.name}" if function is not None else "outside any function"
            others.append((f"{label}:{line_of(node)}", within))
    if not found:
        listed = ", ".join(sorted(loads))
        raise CheckoutError(f"nothing in reach of {folder} calls {listed}; name its function with --load")
    return Sources(index, loads, calls, others, tuple(partial), lambda mark: _belongs([mark], "", mine, inside))


def called_by(name: Node) -> Node | None:
    """The call whose function is ``name``; ``None`` where ``name`` is not called."""
    node = name
    for outer, child in ancestors(name):
        if outer.type in ("field_expression", "scoped_identifier", "generic_function"):
            field = field_of(outer, "field") or field_of(outer, "name") or child
            if field != child:
                return None
            node = outer
            continue
        return outer if outer.type == "call_expression" and field_of(outer, "function") == node else None
    return None


def _called(index: Index, function: Function, main: Sequence[str]) -> bool:
    """Whether a function of another crate than ``main`` is called, directly or not, by one of those."""
    folders = tuple(f"{folder}/" for folder in main)
    if function.scope.label.startswith(folders):
        return True
    seen, waiting = {function.name}, [function]
    while waiting:
        one = waiting.pop()
        sign = rb"(?:\.|::)" if one.owner is not None else rb"(?<!\.)"
        wanted = re.compile(sign + rb"\s*\b" + one.name.encode() + rb"\s*(?:::\s*<[^;(){}]*>\s*)?\(")
        for label, (source, _) in index.files.items():
            if label.startswith(folders):
                if any(not source[: match.start()].rstrip().endswith(b"fn") for match in wanted.finditer(source)):
                    return True
                continue
            for other in index.within(label):
                if other.name not in seen and other not in index.foreign and wanted.search(other.body.text or b""):
                    seen.add(other.name)
                    waiting.append(other)
    return False


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


def _belongs(marks: Iterator[str] | Sequence[str], label: str, mine: str, inside: str) -> bool:
    """Whether code is the backend's: by its folder, else by the innermost ``use`` or ``cfg`` that names one."""
    if label.startswith(f"{inside}/"):
        return True
    for text in marks:
        plain = _NOT.sub("", text)
        named = {*_FOLDER.findall(plain), *_FEATURE.findall(plain), *(w for w in _FAMILIES if w in plain)}
        families = {_FAMILIES.get(name.removesuffix("_backend"), name.removesuffix("_backend")) for name in named}
        families &= _BACKENDS | {mine}
        if families:
            return mine in families
    return True


def _is_test(attributes: str) -> bool:
    """Whether what has ``attributes`` is compiled for tests only."""
    return _TEST.search(attributes) is not None


def _test_files(files: Mapping[str, Node]) -> frozenset[str]:
    """The labels of those of ``files`` that only tests declare as modules; one that nothing declares is none."""
    declared: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for label, root in files.items():
        for child, attributes in _declared(PurePosixPath(label), root):
            if child in files:
                declared[child].append((label, _is_test(attributes)))
    found: set[str] = set()
    while True:
        more = {
            child
            for child, known in declared.items()
            if child not in found and all(test or parent in found for parent, test in known)
        }
        if not more:
            return frozenset(found)
        found |= more


def _declared(label: PurePosixPath, root: Node) -> Iterator[tuple[str, str]]:
    """Each file that ``mod name;`` at the top of a file may mean, with its attributes."""
    folder = label.parent if label.stem in _ROOTS else label.parent / label.stem
    for node in root.named_children:
        if node.type != "mod_item" or field_of(node, "body") is not None:
            continue
        attributes = "\n".join(attributes_of(node))
        name, path = text_of(field_of(node, "name")), _PATH.search(attributes)
        places = [label.parent / path[1]] if path else [folder / f"{name}.rs", folder / name / "mod.rs"]
        yield from ((place.as_posix(), attributes) for place in places)


def defined_here(candle: Path, names: Collection[str]) -> dict[str, str]:
    """The first place (``file:line``) outside of comments where the kernel crates mention each of ``names``, for those
    that they do.

    A file that cannot be read counts as empty.
    """
    wanted = {name.encode() for name in names}
    found: dict[str, str] = {}
    for path in sorted(candle.glob("candle-*kernels/**/*")) if wanted else ():
        if path.suffix not in _SUFFIXES:
            continue
        try:
            source = read_bytes(path)
        except OSError:
            continue
        code = _COMMENTS.sub(lambda match: b"\n" * match[0].count(b"\n"), source)
        for word in _WORD.finditer(code):
            if word[0] in wanted:
                line = code.count(b"\n", 0, word.start()) + 1
                found.setdefault(word[0].decode(), f"{path.relative_to(candle).as_posix()}:{line}")
    return found


def launcher_calls(candle: Path, launchers: Mapping[str, Kernel]) -> dict[str, tuple[str, ...]]:
    """The places (``file:line``) where the Rust code of the checkout ``candle`` names each of ``launchers``; empty for
    none.

    Comments, tests, and the file that declares the launchers are left out.
    """
    found: dict[str, list[str]] = {name: [] for name in launchers}
    names = re.compile(rf"\b(?:{'|'.join(map(re.escape, launchers))})\b") if launchers else None
    for file in sorted(candle.rglob("*.rs")) if names is not None else ():
        inside = file.relative_to(candle)
        if file.name == _DECLARED or not _LEFT_OUT.isdisjoint(inside.parts):
            continue
        try:
            text = read_bytes(file, _MOST).decode("utf-8", "replace")
        except OSError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for match in names.finditer(_COMMENT.sub("", line)) if names is not None else ():
                found[match[0]].append(f"{inside.as_posix()}:{number}")
    return {name: tuple(places) for name, places in found.items()}
