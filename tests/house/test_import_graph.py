"""One direction of flow: which folder of conformance/ imports which, imports inside functions included; and names of
files that lead to one place."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ("conformance", "candle_wiring", "reference")

PER_RUNTIME = [
    f"conformance.runtimes.{runtime}.{part}"
    for runtime in ("cpu", "cuda", "isa", "rocm")
    for part in ("build", "control", "kind")
]
"""The same thing for different runtimes has one name."""


def room(module: str) -> str:
    """The folder of conformance/ or the file directly in it that ``module`` is in; another package as a whole."""
    parts = module.split(".")
    if parts[0] != "conformance" or len(parts) == 1:
        return parts[0]
    return parts[1]


def imported(file: Path) -> Iterator[str]:
    """Every module of ours that ``file`` imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in OURS)


@cache
def modules() -> dict[str, Path]:
    """Every file of ours by its module."""
    files = [file for package in OURS for file in (ROOT / package).rglob("*.py")]
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files]
    return dict(zip(names, files, strict=True))


@cache
def file_graph() -> dict[str, set[str]]:
    """What each file imports of the others, for its types alone too."""
    found: dict[str, set[str]] = {}
    for name, file in modules().items():
        found[name] = imported_modules(file) - {name}
    return found


def imported_modules(file: Path) -> set[str]:
    """The modules of ours that ``file`` imports: `from package import name` is of a module, or of what is written in
    the package's own file."""
    named = (name if name in modules() else name.rpartition(".")[0] for name in imported(file))
    return {name for name in named if name in modules()}


def graph() -> dict[str, set[str]]:
    """What each room imports of the others."""
    found: dict[str, set[str]] = {}
    for name, file in modules().items():
        found.setdefault(room(name), set()).update(map(room, imported(file)))
    return {name: others - {name, "conformance"} for name, others in found.items()}


@pytest.mark.slow("parses every file of the packages")
def test_no_folder_is_imported_by_what_it_imports() -> None:
    try:
        list(TopologicalSorter(graph()).static_order())
    except CycleError as cycle:
        pytest.fail(f"imports go in a circle: {' -> '.join(reversed(cycle.args[1]))}")


@pytest.mark.slow("parses every file of the packages")
def test_a_folder_imports_what_stands_above_it_in_the_table_of_contributing() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| `conformance/` |")[2].partition("\n\n")[0]
    order = re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)
    folders = {path.name for path in (ROOT / "conformance").iterdir() if (path / "__init__.py").is_file()}
    assert set(order) == folders
    rooms = graph()
    upwards = {name: (rooms[name] & folders) - set(order[:place]) for place, name in enumerate(order)}
    assert not any(upwards.values()), upwards


@pytest.mark.slow("parses every file of the packages")
def test_a_circle_would_be_found() -> None:
    with pytest.raises(CycleError):
        list(TopologicalSorter({**graph(), "spec": {"cli"}}).static_order())


def circle(of: dict[str, set[str]]) -> list[str]:
    """Files that import one another in a circle, if there are any."""
    try:
        list(TopologicalSorter(of).static_order())
    except CycleError as cycle:
        return list(reversed(cycle.args[1]))
    return []


@pytest.mark.slow("parses every file of the packages")
def test_no_file_is_imported_by_what_it_imports() -> None:
    assert " -> ".join(circle(file_graph())) == ""


@pytest.mark.slow("parses every file of the packages")
def test_a_circle_of_types_would_be_found() -> None:
    graph = {name: others for name, others in file_graph().items() if room(name) == "spec"}
    assert circle({**graph, "conformance.spec.kernel": {"conformance.spec.load"}}) != []


def test_a_name_of_a_file_stands_once_in_a_room() -> None:
    files = (name for name, file in modules().items() if file.name != "__init__.py" and name not in PER_RUNTIME)
    counts = Counter((room(name), name.rpartition(".")[2]) for name in files)
    assert [f"{where}: {name}.py" for (where, name), count in counts.items() if count > 1] == []


def test_every_folder_says_what_happens_in_it() -> None:
    folders = [path for path in (ROOT / "conformance").iterdir() if (path / "__init__.py").is_file()]
    silent = [path.name for path in folders if not ast.get_docstring(ast.parse((path / "__init__.py").read_text()))]
    assert silent == []


@dataclass(frozen=True)
class Wall:
    """Modules that must not import others, both by what their names begin with, but for those ``beyond`` the wall."""

    importing: tuple[str, ...]
    unknown: tuple[str, ...]
    why: str
    beyond: tuple[str, ...] = ()

    def breaches(self, graph: Mapping[str, set[str]]) -> list[str]:
        """What goes through the wall in ``graph``: of each module, what it imports."""
        here = [name for name in graph if _is_in(name, self.importing) and not _is_in(name, self.beyond)]
        return [f"{name} -> {other}" for name in here for other in graph[name] if _is_in(other, self.unknown)]


def _is_in(module: str, rooms: Iterable[str]) -> bool:
    parts = module.removeprefix("conformance.")
    return any(parts == name or parts.startswith(f"{name}.") for name in rooms)


PACKAGES = tuple(path.name for path in sorted((ROOT / "conformance").iterdir()) if (path / "__init__.py").is_file())

WINGS = ("candle_wiring", "capture", "emulate")

WALLS = {
    "a wing is known to its commands alone": Wall(
        tuple(package for package in PACKAGES if package not in WINGS),
        WINGS,
        "the core works without it: what both need belongs into the core",
        beyond=tuple(f"cli.commands.{name}" for name in ("capture", "emulate", "new", "wiring")),
    ),
    "the engine knows nothing of benchmarks": Wall(
        ("engine",),
        ("engine.timing", "record.bench", "report.bench"),
        "timers have requests of their own",
        beyond=("engine.timing",),
    ),
    "recordings are one source of cases": Wall(
        ("engine",), ("replay",), "engine/modes.py has what any source of cases is", beyond=("engine.recordings",)
    ),
    "the verdict knows neither the port nor recordings": Wall(
        ("verdict",), ("port", "replay", "engine"), "what is right depends on spec and case alone"
    ),
    "a record collects what judges said": Wall(
        ("record",),
        ("engine.run", "engine.pool", "engine.timing.bench_run", "port.check.source", "port.definitions"),
        "it starts no process and reads no source",
    ),
    "pytest does not go through the command line": Wall(
        ("pytest_plugin", "pytest_items", "pytest_nodes"), ("cli",), "both stand over session/"
    ),
    "a port asks for a compiler, whose runtime it does not know": Wall(
        ("port",), ("runtimes",), "it is handed in: conformance/port/compiling/runtime_compiler.py"
    ),
    "the end of a command knows one class of errors": Wall(
        ("cli.ending",), PACKAGES, "what a user can mend is a UserError, whichever package raises it"
    ),
}
"""The table of CONTRIBUTING.md holds the folders apart; these hold beyond it."""


@pytest.mark.slow("parses every file of the packages")
@pytest.mark.parametrize("wall", WALLS.values(), ids=WALLS)
def test_a_wall_stands(wall: Wall) -> None:
    files = file_graph()
    assert any(_is_in(name, wall.importing) for name in files), "nothing stands behind this wall: rename its modules"
    assert wall.breaches(files) == [], wall.why


@pytest.mark.slow("parses every file of the packages")
@pytest.mark.parametrize("wall", WALLS.values(), ids=WALLS)
def test_a_breach_of_a_wall_would_be_found(wall: Wall, tmp_path: Path) -> None:
    files = file_graph()
    importing = next(name for name in files if _is_in(name, wall.importing) and not _is_in(name, wall.beyond))
    for unknown in wall.unknown:
        assert any(_is_in(name, (unknown,)) for name in files), f"there is no {unknown} any more: name what it is now"
        planted = tmp_path / "planted.py"
        module = unknown if unknown in modules() else f"conformance.{unknown}"
        planted.write_text(f"def late():\n    from {module} import anything\n")
        breaches = wall.breaches({**files, importing: files[importing] | imported_modules(planted)})
        assert [breach.partition(" -> ")[0] for breach in breaches] == [importing]
