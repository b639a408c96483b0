"""A kernel is taken from a part of its source where the part has it; for everything else the whole source is asked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from conformance.engine.compiler import Compiler
from conformance.engine.library import Library, LostLoading
from conformance.engine.modes import Tree
from conformance.engine.protocol import CompiledParameterRow, KernelRow
from conformance.engine.remote_executor import Lost, RemoteFunction
from conformance.port.compiling.cache import Made
from conformance.port.compiling.cut import Block, Cuts
from conformance.port.compiling.partly import Broken
from conformance.port.compiling.shards import Part
from conformance.port.options import NO_OPTIONS
from conformance.port.sources import KernelSource
from conformance.processes import InfrastructureError
from conformance.runtimes import runtime_kind
from conformance.runtimes.hip.errors import HipError
from conformance.spec.entry import Build
from conformance.spec.load import load_specs
from conformance.toolchains.compile_error import CompileError

SPECS = load_specs()
NEG, EXP, SIN = (SPECS.entry(name) for name in ("uneg_f32", "uexp_f32", "usin_f32"))
FIRST, SECOND = Part((NEG.name, EXP.name), (NEG.name, EXP.name)), Part((SIN.name,), (SIN.name,))
WHOLE = "whole"


class Machine:
    """A compiler and a loader: what is compiled is named after its first kernel, and has the kernels ``has``.

    ``fails`` says what compiling or loading raises. ``done`` is what they were asked for.
    """

    kind = runtime_kind("cuda")  # whose tables of kernels come from the loader
    options = NO_OPTIONS
    parts_of_the_source: tuple[Part, ...] | None = (FIRST, SECOND)

    def __init__(self) -> None:
        self.has = {NEG.name: [NEG.name, EXP.name], SIN.name: [SIN.name], WHOLE: [NEG.name, EXP.name, SIN.name]}
        self.fails: dict[str, Exception | None] = {}
        self.broken: dict[str, Broken] = {}
        self.done: list[str] = []
        self.loaded: list[str] = []

    def begin(self, what: str) -> None: ...

    def lacks(self, label: str, name: str) -> None: ...

    def parts(self, source: KernelSource, asked: Collection[str], own: Collection[str]) -> tuple[Part, ...] | None:
        return self.parts_of_the_source if asked else None

    def compiled_part(self, source: KernelSource, part: Part) -> Made | None:
        name = part.asked[0]
        self.done.append(name)
        failure = self.fails.get(f"compiling {name}")
        if failure is not None and not isinstance(failure, CompileError):
            raise failure
        return None if failure is not None else Made(name.encode())

    def compiled(self, source: KernelSource, build: Build = "kernels") -> Made:
        self.done.append(WHOLE)
        failure = self.fails.get(f"compiling {WHOLE}")
        if failure is not None:
            raise failure
        return Made(WHOLE.encode(), broken=self.broken)

    def load(self, code: bytes, label: str, build: Build = "kernels") -> tuple[int, list[KernelRow]]:
        name = code.decode()
        failure = self.fails.get(f"loading {name}")
        if failure is not None:
            raise failure
        self.loaded.append(name)
        return len(self.loaded) - 1, [row(kernel) for kernel in self.has[name]]

    def function(self, module: int, name: str) -> RemoteFunction | None:
        return RemoteFunction(f"{name} of {self.loaded[module]}", 0)


def row(name: str) -> KernelRow:
    """The kernel ``name`` as a runtime reports it, with the right parameters."""
    types = {"f32": "float", "size_t": "unsigned long"}
    params = tuple(
        CompiledParameterRow(type=f"{types[one.dtype]}{' *' if one.pointer else ''}", size=8)
        for one in SPECS.entry(name).params
    )
    return KernelRow(name=name, line=1, params=params)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def library(machine: Machine, tmp_path: Path) -> Library:
    asked = [("unary", kernel.name) for kernel in (NEG, EXP, SIN)]
    text = "".join(f'extern "C" __global__ void {name}(float *p) {{}}\n' for _, name in asked)
    (tmp_path / "unary.hip").write_text(text)
    return Library(Tree.at(tmp_path), cast(Compiler, machine), lambda: machine, asked)


def label(library: Library) -> str:
    return next(iter(library._sources))


def test_a_part_is_all_that_is_compiled_for_its_kernels(machine: Machine, library: Library) -> None:
    for kernel, part in ((EXP, NEG.name), (SIN, SIN.name), (NEG, NEG.name)):
        found = library.find(kernel).function
        assert found is not None
        assert found.name == f"{kernel.name} of {part}"
    assert machine.done == [NEG.name, SIN.name]


REFUSED = CompileError("k", "k.hip:1:1: error: no")
USELESS: dict[str, tuple[str, Exception | None]] = {
    "it does not compile": (f"compiling {NEG.name}", REFUSED),
    "the machine cannot compile it": (f"compiling {NEG.name}", InfrastructureError("no room")),
    "it cannot be loaded": (f"loading {NEG.name}", HipError("hipModuleLoadData", 209, "hipErrorNoBinaryForGpu")),
}


@pytest.mark.parametrize("why", USELESS)
def test_a_part_that_is_of_no_use_costs_no_verdict(machine: Machine, library: Library, why: str) -> None:
    machine.fails = dict([USELESS[why]])
    for kernel in (NEG, EXP, SIN):
        assert library.find(kernel).status == "pass"
    assert machine.done == [NEG.name, WHOLE, SIN.name]


def test_a_kernel_that_its_part_lacks_is_looked_for_in_the_whole(machine: Machine, library: Library) -> None:
    machine.has[NEG.name] = [EXP.name]
    found = [library.find(kernel) for kernel in (NEG, EXP)]
    assert [one.function and one.function.name for one in found] == [
        f"{NEG.name} of whole",
        f"{EXP.name} of {NEG.name}",
    ]


def test_only_the_whole_says_that_a_kernel_is_missing_or_does_not_compile(machine: Machine, library: Library) -> None:
    machine.has |= {NEG.name: [], WHOLE: [SIN.name]}
    machine.broken = {EXP.name: Broken("unary.hip:3", "unary.hip:3:4: error: no")}
    assert library.find(NEG).status == "missing"
    found = library.find(EXP)
    assert (found.status, found.source, found.message) == ("compile_error", "unary.hip:3", "unary.hip:3:4: error: no")


def test_what_the_compiler_does_not_make_of_the_whole_text_is_missing(machine: Machine, library: Library) -> None:
    machine.parts_of_the_source = (FIRST, replace(SECOND, whole=True))
    machine.has[SIN.name] = []
    assert [library.find(kernel).status for kernel in (NEG, SIN)] == ["pass", "missing"]
    assert WHOLE not in machine.done


@pytest.mark.parametrize("order", [(NEG, SIN), (SIN, NEG)])
def test_a_kernel_whose_part_compiles_does_not_depend_on_what_was_compiled_before(
    machine: Machine, library: Library, order: tuple[Any, ...]
) -> None:
    machine.fails = {f"compiling {NEG.name}": REFUSED, f"compiling {WHOLE}": CompileError("k", "the compiler died")}
    assert {kernel.name: library.find(kernel).status for kernel in order} == {
        NEG.name: "compile_error",
        SIN.name: "pass",
    }


def test_judges_share_the_sources_that_they_read_ahead_and_compile_none(machine: Machine, tmp_path: Path) -> None:
    for name in ("unary", "fill", "reduce"):
        (tmp_path / f"{name}.hip").touch()
    asked = [("unary", NEG.name), ("unary", EXP.name), ("fill", "fill_u8")]
    read: list[list[str]] = []
    for first in (0, 1):
        library = Library(Tree.at(tmp_path), cast(Compiler, machine), lambda: machine, asked)
        for _ in library.read_ahead(first, 2):
            read.append([one.rpartition("/")[2] for one in library._parts])
    assert read == [["unary.hip"], ["fill.hip"]]  # and not the one that nothing is asked of
    assert machine.done == []


def test_a_part_that_costs_the_executor_is_not_loaded_for_ever(machine: Machine, library: Library) -> None:
    machine.fails = {f"loading {name}": Lost("ended", "signal 11") for name in (NEG.name, WHOLE)}
    with pytest.raises(LostLoading) as lost:
        library.find(NEG)
    assert lost.value.source == label(library)
    library.blame(label(library), "error: its code cannot be loaded: signal 11")
    library.begin({}, {})
    assert [library.find(kernel).status for kernel in (NEG, SIN)] == ["compile_error", "compile_error"]
    assert WHOLE not in machine.done


def test_a_fresh_executor_gets_the_same_parts(machine: Machine, library: Library) -> None:
    library.find(NEG)
    library.renewed()
    assert library.find(NEG).status == "pass"
    assert (machine.done, machine.loaded) == ([NEG.name], [NEG.name, NEG.name])


@pytest.mark.parametrize(("first", "step", "done"), [(0, 1, [NEG.name, SIN.name]), (1, 2, [SIN.name]), (2, 3, [])])
def test_requests_share_the_parts_of_a_source(
    machine: Machine, library: Library, first: int, step: int, done: list[str]
) -> None:
    library.compile(label(library), first, step)
    assert machine.done == done
    assert set(library.kernels(label(library))) == {name for part in done for name in machine.has[part]}


def test_the_request_for_a_part_of_no_use_compiles_the_whole(machine: Machine, library: Library) -> None:
    machine.fails = {f"compiling {SIN.name}": REFUSED, f"compiling {WHOLE}": REFUSED}
    library.compile(label(library), 0, 2)
    assert machine.done == [NEG.name]
    with pytest.raises(CompileError):
        library.compile(label(library), 1, 2)


@pytest.mark.parametrize("parts", [None, ()])
def test_a_source_without_parts_is_compiled_once_as_a_whole(
    machine: Machine, library: Library, parts: tuple[Part, ...] | None
) -> None:
    machine.parts_of_the_source = parts
    for first in range(3):
        library.compile(label(library), first, 3)
    assert library.find(NEG).status == "pass"
    assert machine.done == [WHOLE]


def test_kernels_of_one_source_have_digests_of_their_own_code(library: Library) -> None:
    codes = [library.find(kernel).code for kernel in (NEG, EXP, SIN)]
    assert codes[0] == codes[1] != codes[2]


@pytest.mark.parametrize(
    ("runtime", "own", "parts"),
    [
        ("cpu", [NEG.name, "u"], [Part((NEG.name, EXP.name), (NEG.name,)), Part(("u",), ("u",), whole=True)]),
        ("cpu", [NEG.name], [Part((NEG.name, EXP.name), (NEG.name,))]),
        ("isa", [NEG.name], [Part((NEG.name, EXP.name), (NEG.name,))]),
        ("isa", [NEG.name, "u"], None),
    ],
)
def test_a_kernel_that_is_not_seen_is_looked_for_in_the_whole_source(
    monkeypatch: pytest.MonkeyPatch, runtime: str, own: list[str], parts: list[Part] | None
) -> None:
    compiler = Compiler.__new__(Compiler)
    compiler.kind = runtime_kind(runtime)
    cuts = Cuts("", (Block((NEG.name, EXP.name), 0, 0),))
    monkeypatch.setattr(compiler, "_cuts_of", lambda _: cuts, raising=False)
    found = compiler.parts(KernelSource(Path("unary.hip"), Path()), own, own)
    assert found == (None if parts is None else tuple(parts))
