"""A kernel is judged as soon as nothing that is still compiled can change its outcome, and no sooner."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from pathlib import Path

import pytest

from conformance.engine import run as running
from conformance.engine.messages import Answer, Compile, Compiled, Ready, Request, RunCases, Setup
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.pool import Group
from conformance.engine.result import Result
from conformance.engine.run import run, to_compile
from conformance.outcome import Outcome
from conformance.port import launchers as linked
from conformance.runtimes.kind import Choice
from conformance.spec.entry import Build
from conformance.spec.load import load_specs

SPECS = load_specs()
FILL, CONST, UNARY, LAUNCHER = "fill_u8", "const_set_u8", "uneg_f32", "launch_mmvq_gguf_quantize_q8_1_f32"
SETUP = Setup(runtime="cpu", wave=64, orders=("forward",), command="candle-parity run", choice=Choice("cpu"))


def port(folder: Path, *files: str) -> Tree:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(f'extern "C" void {LAUNCHER}();' if "mmvq" in file else "")
    return Tree.at(folder)


def _file(compiling: Compile | Compiled) -> str:
    return compiling.source.rpartition("/")[2]


def ran(
    monkeypatch: pytest.MonkeyPatch, tree: Tree, *answers: Compiled, groups: dict[str, Hashable] | None = None
) -> tuple[list[str], list[RunCases], Result]:
    """The order in which sources are compiled, as ``answers`` say, and kernels asked for; these requests; the result.

    One judge answers: what may already be asked comes before the next source. ``groups`` gets the group of each source
    and of each kernel.
    """
    groups = {} if groups is None else groups
    order: list[str] = []
    asked: list[RunCases] = []

    class Judges:
        printed: tuple[str, ...] = ()

        def __init__(self, *_: object) -> None: ...

        def __enter__(self) -> Judges:
            return self

        def __exit__(self, *_: object) -> None: ...

        def greet(self) -> Ready:
            return Ready("a device", "", 64, "", "")

        def answers(self, requests: deque[Request], group: Group) -> Iterator[Answer]:
            compiling = [requests.popleft() for _ in range(len(requests))]
            assert {one.source for one in compiling if isinstance(one, Compile)} == {one.source for one in answers}
            groups.update((_file(one), group(one)) for one in compiling if isinstance(one, Compile))
            for answer in answers:
                order.append(_file(answer))
                yield answer
                while requests:
                    request = requests.popleft()
                    assert isinstance(request, RunCases)
                    order.append(request.kernel.name)
                    asked.append(request)
                    groups[request.kernel.name] = group(request)
                    yield Outcome(name=request.kernel.name, status="pass")

    monkeypatch.setattr(running, "Pool", Judges)
    result = run(SETUP, JudgeGenerated(tree), [SPECS.entry(name) for name in (FILL, CONST, UNARY, LAUNCHER)])
    return order, asked, result


def compiled(tree: Tree, file: str, *kernels: str, error: str | None = None, build: Build = "kernels") -> Compiled:
    (source,) = (source for source in tree.sources if source.label.endswith(file))
    return Compiled(source.label, error, kernels=kernels, build=build)


def test_a_kernel_waits_for_its_own_source_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = port(tmp_path, "fill.hip", "unary.hip", "mmvq.hip")
    mmvq = compiled(tree, "mmvq.hip", build="launchers")
    answers = compiled(tree, "fill.hip", FILL, CONST), compiled(tree, "unary.hip", UNARY), mmvq
    groups: dict[str, Hashable] = {}
    order, _, result = ran(monkeypatch, tree, *answers, groups=groups)
    assert order == ["fill.hip", FILL, CONST, "unary.hip", UNARY, "mmvq.hip", LAUNCHER]
    # And who has compiled it has it loaded.
    assert groups[FILL] == groups[CONST] == groups["fill.hip"]
    assert groups[UNARY] == groups["unary.hip"] != groups["fill.hip"]
    assert groups[LAUNCHER] == groups["mmvq.hip"]
    assert list(result.outcomes) == [FILL, CONST, UNARY, LAUNCHER]


def test_what_its_own_source_lacks_waits_for_all_sources_and_a_launcher_for_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = port(tmp_path, "fill.hip", "unary.hip", "mmvq.hip")
    mmvq = compiled(tree, "mmvq.hip", error="error: no", build="launchers")
    answers = compiled(tree, "fill.hip", FILL), mmvq, compiled(tree, "unary.hip", error="error: a defect")
    order, asked, result = ran(monkeypatch, tree, *answers)
    assert order == ["fill.hip", FILL, "mmvq.hip", LAUNCHER, "unary.hip", CONST, UNARY]
    broken = {answers[2].source: "error: a defect"}  # and not the library, which its launchers report
    assert [request.broken for request in asked[1:]] == [broken] * 3
    assert result.compile_logs == broken


def test_of_two_sources_with_a_name_neither_decides_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = port(tmp_path, "a/fill.hip", "b/fill.hip", "unary.hip", "mmvq.hip")
    files = [compiled(tree, "a/fill.hip", FILL, CONST), compiled(tree, "b/fill.hip", FILL, CONST)]
    rest = compiled(tree, "unary.hip", UNARY), compiled(tree, "mmvq.hip", build="launchers")
    order, _, _ = ran(monkeypatch, tree, *files, *rest)
    assert order == ["fill.hip", "fill.hip", "unary.hip", FILL, CONST, UNARY, "mmvq.hip", LAUNCHER]


def test_sources_with_most_kernels_come_first_and_libraries_last(tmp_path: Path) -> None:
    tree = port(tmp_path, "fill.hip", "mmvq.hip", "ternary.hip", "unary.hip")
    names = ("where_u8_f32", UNARY, "uexp_f32", "usin_f32", FILL, CONST, LAUNCHER)
    requests = to_compile([tree], [SPECS.entry(name) for name in names])
    found = [(one.source.rpartition("/")[2], one.build) for one in requests if isinstance(one, Compile)]
    assert found == [(f"{name}.hip", "kernels") for name in ("unary", "fill", "ternary")] + [("mmvq.hip", "launchers")]


def test_libraries_come_first_where_there_are_judges_for_kernels_too(tmp_path: Path) -> None:
    tree = port(tmp_path, "fill.hip", "mmvq.hip")
    kernels = [SPECS.entry(name) for name in (FILL, LAUNCHER)]
    for judges, expected in ((1, ["kernels", "launchers"]), (2, ["launchers", "kernels"])):
        requests = to_compile([tree], kernels, judges)
        assert [one.build for one in requests if isinstance(one, Compile)] == expected


def test_a_source_of_many_kernels_is_asked_for_in_parts(tmp_path: Path) -> None:
    unary = [kernel for kernel in SPECS.kernels.values() if kernel.module == "unary"]
    tree = port(tmp_path, "unary.hip", "fill.hip")
    requests = to_compile([tree], [*unary, SPECS.entry(FILL)], judges=2)
    found = [(one.source.rpartition("/")[2], one.first, one.step) for one in requests if isinstance(one, Compile)]
    assert len(unary) == 123
    assert found == [*(("unary.hip", first, 6) for first in range(6)), ("fill.hip", 0, 1)]


def test_sources_are_read_for_launchers_only_where_one_is_selected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = port(tmp_path, "unary.hip", "mmvq.hip")
    monkeypatch.setattr(linked, "reached", lambda *_: pytest.fail("a source was searched for launchers"))
    assert to_compile([tree], [SPECS.entry(UNARY)]) == [Compile(tree.sources[1].label, 0)]
