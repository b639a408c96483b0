"""One direction of flow: which folder of conformance/ imports which, imports inside functions included; and names of
files that lead to one place."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
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


def file_graph() -> dict[str, set[str]]:
    """What each file imports of the others, for its types alone too."""
    found: dict[str, set[str]] = {}
    for name, file in modules().items():
        # `from package import name` is of a module, or of what is written in the package's own file.
        named = (one if one in modules() else one.rpartition(".")[0] for one in imported(file))
        found[name] = {one for one in named if one in modules()} - {name}
    return found


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


WALLS = (
    ("pytest_plugin", "cli", "pytest and the command line stand side by side over session/"),
    ("pytest_items", "cli", "pytest and the command line stand side by side over session/"),
    ("pytest_nodes", "cli", "pytest and the command line stand side by side over session/"),
)
"""Rooms that must not import another, and why. The table of CONTRIBUTING.md holds the folders apart."""


@pytest.mark.slow("parses every file of the packages")
@pytest.mark.parametrize(("importing", "imported", "why"), WALLS, ids=[f"{one}-{other}" for one, other, _ in WALLS])
def test_a_wall_stands(importing: str, imported: str, why: str) -> None:
    assert imported not in graph()[importing], why


@pytest.mark.slow("parses every file of the packages")
def test_the_engine_knows_nothing_of_benchmarks() -> None:
    files = file_graph()
    timing = "conformance.engine.timing"
    engine = [name for name in files if name.startswith("conformance.engine") and not name.startswith(timing)]
    assert {name for name in engine for other in files[name] if other.startswith(timing)} == set()


@pytest.mark.slow("parses every file of the packages")
def test_a_record_collects_and_reads_no_source() -> None:
    files = file_graph()
    reading = ("conformance.port.check.source", "conformance.port.definitions")
    record = [name for name in files if name.startswith("conformance.record")]
    assert {name for name in record for other in files[name] if other.startswith(reading)} == set()


@pytest.mark.slow("parses every file of the packages")
def test_the_verdict_knows_neither_what_a_port_declares_nor_recordings() -> None:
    files = file_graph()
    unknown = ("conformance.port.config", "conformance.port.declared", "conformance.replay", "conformance.engine")
    verdict = [name for name in files if name.startswith("conformance.verdict")]
    assert {f"{name} -> {other}" for name in verdict for other in files[name] if other.startswith(unknown)} == set()
