"""From the outcomes of a run to its record."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.messages import Ready, Setup
from conformance.engine.modes import JudgeGenerated, Tree
from conformance.engine.recordings import JudgeRecorded, JudgeReference
from conformance.engine.result import Result
from conformance.outcome import Failure, Outcome
from conformance.port.config import KnownFailure
from conformance.port.declared.declared import Declared
from conformance.port.digest import tree_digest
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.record import commits, record_text
from conformance.record.assemble import assemble, build_record
from conformance.record.commits import commit_of, harness_commit
from conformance.report.runs import facts, rerun
from conformance.spec.load import SPEC_FOLDER, Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def tree_of(folder: Path) -> Tree:
    """The tree in ``folder``, which may be empty."""
    return Tree(folder, sources=tuple(KernelSource(file, folder) for file in sorted(folder.glob("*.hip"))))


def result(kernels: Path | None, *outcomes: Outcome, **changes: Any) -> Result:
    values: dict[str, Any] = {
        "runtime": "cpu",
        "wave": 32,
        "orders": ("forward", "reverse"),
        "threads": 1,
        "device": 0,
        "salt": "",
        "specs": None,
        "command": "candle-parity run",
        **changes,
    }
    ready = Ready("host", "x86_64", 32, "the host", "10.0")
    started = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    mode = JudgeReference(Path("traces")) if kernels is None else JudgeGenerated(tree_of(kernels))
    return Result(Setup(**values), mode, ready, {item.name: item for item in outcomes}, started, 1.25)


def test_every_kernel_is_recorded(specs: Specs, tmp_path: Path) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "unary.hip").write_text("// one\n// two\n")
    failure = Failure("uexp_f32(shape=[3])", "off", 1, "nan", "0", float("inf"), "again")
    made = assemble(
        specs,
        result(
            folder,
            Outcome(
                name="uexp_f32",
                status="fail",
                cases=5,
                failed=1,
                launches=10,
                max_ulp=float("inf"),
                seconds=0.5,
                source="port/unary.hip:2",
                failures=[failure],
            ),
            Outcome(
                name="ulog_f32",
                status="pass",
                cases=5,
                failed=0,
                launches=10,
                max_ulp=1.0,
                seconds=0.5,
                source="port/unary.hip:1",
            ),
            Outcome(name="usin_f32", status="missing"),
        ).placed(),
        ["u*"],
    )
    assert made.summary.total == len(specs.kernels)
    assert (made.summary.passed, made.summary.fail, made.summary.missing) == (1, 1, 1)
    assert made.summary.not_run == len(specs.kernels) - 3
    by_name = {kernel.name: kernel for kernel in made.kernels}
    assert by_name["uexp_f32"].failures[0].ulp is None
    assert by_name["uexp_f32"].upstream == "unary.cu:192"
    assert by_name["usin_f32"].max_ulp is None
    assert by_name["ulog_f32"].max_ulp == 1.0
    assert made.run.source_lines == {"port/unary.hip": 2}
    assert made.run.orders == ("forward", "reverse")
    assert made.run.started == "2026-01-02T03:04:05Z"
    assert made.run.patterns == ("u*",)
    assert made.run.git is None
    assert record_text(made).startswith('{\n "schema": 1,')


def test_a_kernel_that_fails_has_its_line_where_the_code_object_says_none(specs: Specs, tmp_path: Path) -> None:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "kernels.h").write_text('#define K(NAME) extern "C" __global__ void NAME(float *p) {}\n')
    (folder / "unary.hip").write_text('#include "kernels.h"\n\nK(uexp_f32)\nK(ulog_f32)\nK(usin_f32)\n')
    made = assemble(
        specs,
        result(
            folder,
            Outcome(
                name="uexp_f32",
                status="pass",
                cases=5,
                failed=0,
                launches=10,
                max_ulp=1.0,
                seconds=0.5,
                source="port/unary.hip",
            ),
            Outcome(
                name="ulog_f32",
                status="crash",
                cases=5,
                failed=1,
                launches=10,
                max_ulp=1.0,
                seconds=0.5,
                source="port/unary.hip",
            ),
            Outcome(name="usin_f32", status="signature", source="port/unary.hsaco"),
        ).placed(),
    )
    sources = {kernel.name: kernel.source for kernel in made.kernels if kernel.source}
    assert sources == {
        "uexp_f32": "port/unary.hip",
        "ulog_f32": "port/unary.hip:4",
        "usin_f32": "port/unary.hsaco",
    }


def test_a_device_chooses_its_own_order(specs: Specs, tmp_path: Path) -> None:
    made = assemble(specs, result(tmp_path, runtime="rocm", orders=("forward",)))
    assert made.run.orders == ()


def test_a_reference_on_trial_runs_no_kernel(specs: Specs) -> None:
    made = assemble(specs, result(None, Outcome(name="uexp_f32", status="pass", cases=3)))
    assert made.run.subject == "reference"
    assert (made.run.kernels, made.run.wave, made.run.traces) == (None, None, "traces")


def test_what_the_port_declares_and_the_target_of_the_sources_stand_in_the_record(specs: Specs, tmp_path: Path) -> None:
    plain = result(tmp_path, arch="gfx942")
    row = KnownFailure("uexp_f32", "NaN")
    declared = replace(plain, mode=JudgeGenerated(Tree(tmp_path, declared=Declared("F", known_failures=(row,)))))
    elsewhere = replace(plain, mode=JudgeGenerated(Tree(tmp_path, declared=Declared("G", known_failures=(row,)))))
    runs = [assemble(specs, one).run for one in (plain, declared, elsewhere)]
    assert runs[0].declared != runs[1].declared == runs[2].declared
    assert runs[0].target == "gfx942"
    assert "--arch gfx942" in rerun(runs[0], "uexp_f32")
    assert ("Macros of", "gfx942") in facts(runs[0], "candle")
    assert "--arch" not in rerun(assemble(specs, result(tmp_path)).run, "uexp_f32")


def test_settings_that_the_port_declares_stand_in_the_record(specs: Specs, tmp_path: Path) -> None:
    made = assemble(specs, result(tmp_path, declared_settings=("wave", "arch")))
    assert made.run.declared_settings == ("wave", "arch")
    assert assemble(specs, result(tmp_path)).run.declared_settings == ()


def test_a_build_has_the_digest_of_a_run_of_the_same_tree(specs: Specs, tmp_path: Path) -> None:
    """Of its macros and the headers outside of it too."""
    for name in ("port", "shim"):
        (tmp_path / name).mkdir()
    (tmp_path / "port" / "a.hip").write_text('#include "s.h"\n')
    (tmp_path / "shim" / "s.h").write_text("int a;\n")
    options = BuildOptions(include_dirs=(tmp_path / "shim",), defines=("A=1",))
    tree = Tree(tmp_path / "port", options)
    ran = assemble(specs, replace(result(tmp_path), mode=JudgeGenerated(tree))).run
    built = build_record(specs, tree, "clang", datetime.now(UTC), 1.0, {}, {}, {}, {}).run
    assert (built.sources, built.declared) == (ran.sources, ran.declared)
    assert built.sources != tree_digest(tree.path)


def test_what_sources_are_compiled_with_stands_in_the_record(
    specs: Specs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = BuildOptions(
        include_dirs=(tmp_path / "shim",),
        defines=("A=1", "B"),
        undefines=("C",),
        forced=(Path("hip/hip_fp16.h"), tmp_path / "shim/s.h"),
        std="c++20",
        dialect="hip",
    )
    ran = assemble(specs, replace(result(tmp_path), mode=JudgeGenerated(Tree(tmp_path, options)))).run
    words = "-I shim -D A=1 -D B -U C --include hip/hip_fp16.h --include shim/s.h"
    assert ("Compiled with", f"{words} --std c++20 --dialect hip") in facts(ran, "candle")
    built = build_record(specs, Tree(tmp_path, options), "clang", datetime.now(UTC), 1.0, {}, {}, {}, {}).run
    assert built.options == ran.options
    assert assemble(specs, result(tmp_path)).run.options == ()


def test_a_replay_says_nothing_of_known_failures_of_generated_cases(specs: Specs, tmp_path: Path) -> None:
    row = KnownFailure("uexp_f32", "NaN", case="*values=special*")
    tree = Tree(tmp_path, declared=Declared("F", known_failures=(row,)))
    made = replace(result(tmp_path, Outcome(name="uexp_f32", status="pass", cases=3)), mode=JudgeGenerated(tree))
    assert len(made.settled(specs.kernels).problems) == 1
    assert replace(made, mode=JudgeRecorded(tree, Path("traces"))).settled(specs.kernels).problems == ()


def git(folder: Path, *words: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    # Neither a hook's own repository nor the user's settings.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
        check=True,
        capture_output=True,
        text=True,
        env={**inherited, "GIT_CONFIG_GLOBAL": os.devnull},
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a committed port in ``port`` and an ignored folder ``ignored``."""
    folder = tmp_path / "checkout"
    (folder / "port").mkdir(parents=True)
    (folder / "ignored").mkdir()
    (folder / "port" / "unary.hip").write_text("// one\n")
    (folder / ".gitignore").write_text("/ignored\n*.hsaco\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def test_the_commit_of_a_port_is_that_of_its_repository(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "--short=12", "HEAD")
    assert commit_of(checkout / "port") == head
    assert commit_of(checkout / "port" / "unary.hip") == head
    (checkout / "beside.txt").write_text("no part of the port\n")
    assert commit_of(checkout / "port") == head


@pytest.mark.parametrize(
    "change",
    [
        lambda port: (port / "unary.hip").write_text("// two\n"),
        lambda port: (port / "binary.hip").write_text("// new\n"),
        lambda port: (port / "affine.hsaco").write_bytes(b"ignored, but run"),
    ],
)
def test_a_port_that_differs_from_its_commit_is_dirty(checkout: Path, change: Callable[[Path], object]) -> None:
    change(checkout / "port")
    assert commit_of(checkout / "port") == f"{git(checkout, 'rev-parse', '--short=12', 'HEAD')}-dirty"


@pytest.mark.parametrize("name", ["ignored", "untracked"])
def test_a_port_that_its_repository_does_not_track_is_in_no_commit(checkout: Path, name: str) -> None:
    (checkout / name).mkdir(exist_ok=True)
    (checkout / name / "unary.hip").write_text("// one\n")
    (checkout / "port" / "ours.hip").write_text("// one\n")
    assert commit_of(checkout / name) is None
    assert commit_of(checkout / name / "unary.hip") is None
    assert commit_of(checkout / "port" / "ours.hip") is None


def test_a_port_outside_a_checkout_or_before_the_first_commit_is_in_no_commit(tmp_path: Path) -> None:
    (tmp_path / "unary.hip").write_text("// one\n")
    assert commit_of(tmp_path) is None
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    assert commit_of(tmp_path) is None


def test_a_hook_of_another_repository_does_not_change_the_answer(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "--quiet", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / "index"))
    answer = commit_of(checkout / "port")
    monkeypatch.undo()
    assert answer == git(checkout, "rev-parse", "--short=12", "HEAD")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_the_checkout_of_another_user_is_read_where_the_port_is_that_users_too(
    monkeypatch: pytest.MonkeyPatch, checkout: Path
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)  # a CI's may trust every folder
    head = git(checkout, "rev-parse", "--short=12", "HEAD")
    for path in (checkout, *checkout.rglob("*")):
        os.chown(path, 12345, 12345)
    assert commit_of(checkout / "port") == head
    os.chown(checkout / "port", 0, 0)
    assert commit_of(checkout / "port") is None


def test_the_harness_is_in_the_commit_that_its_judges_are_in(monkeypatch: pytest.MonkeyPatch, checkout: Path) -> None:
    monkeypatch.setattr(commits, "checkout", lambda: checkout)
    assert harness_commit() is None
    for name in ("conformance", "reference", "specs"):
        (checkout / name).mkdir()
        (checkout / name / "__init__.py").write_text("")
    assert harness_commit() is None
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "second")
    head = git(checkout, "rev-parse", "--short=12", "HEAD")
    (checkout / "port" / "unary.hip").write_text("// two\n")
    assert harness_commit() == head
    (checkout / "specs" / "__init__.py").write_text("changed = True\n")
    assert harness_commit() == f"{head}-dirty"


def test_a_record_names_what_the_traces_were_recorded_on(specs: Specs) -> None:
    full = {"device": "GPU", "arch": "sm_90", "runtime": "cuda", "started": "2026-01-02T03:04:05Z", "git": "abc123"}
    made = assemble(specs, result(None), recordings=[full, {"wave": 32}])
    assert made.run.recorded_on == ("GPU (sm_90), cuda, 2026-01-02, port at abc123", "unknown device")


def test_a_record_names_the_specs_and_their_digest(specs: Specs, tmp_path: Path) -> None:
    own = assemble(specs, result(tmp_path)).run
    assert (own.specs, own.specs_digest) == (None, specs.digest)
    folder = tmp_path / "fill-specs"
    folder.mkdir()
    shutil.copy(SPEC_FOLDER / "fill.yaml", folder)
    given = load_specs(folder)
    made = assemble(given, result(tmp_path, specs=folder))
    assert made.run.specs is not None
    assert made.run.specs.endswith("fill-specs")
    assert (made.run.specs_digest, made.summary.total) == (given.digest, 24)


def test_how_the_run_went_stands_in_the_record(specs: Specs, tmp_path: Path) -> None:
    went = result(
        tmp_path,
        Outcome(name="uexp_f32", status="pass", cases=3, left_out=2),
        Outcome.infrastructure("ulog_f32", "the disk was full"),
    )
    went.ready = replace(went.ready, sandbox="seccomp and Landlock 7", weakened=("HIPCPU_GUARD=0",))
    run = (made := assemble(specs, went)).run
    assert (run.sandbox, run.weakened) == ("seccomp and Landlock 7", ("HIPCPU_GUARD=0",))
    assert run.infrastructure == ("the disk was full",)
    assert (run.complete, run.selected) == (True, 2)
    assert next(row for row in made.kernels if row.name == "uexp_f32").left_out == 2


@pytest.mark.parametrize(
    ("complete", "message"),
    [(False, "interrupted before it was judged"), (True, "infrastructure: no answer came back")],
)
def test_a_selected_kernel_without_an_outcome_does_not_vanish(
    specs: Specs, tmp_path: Path, complete: bool, message: str
) -> None:
    went = result(tmp_path, Outcome(name="uexp_f32", status="pass", cases=3))
    went.selected, went.interrupted = ("uexp_f32", "ulog_f32"), not complete
    made = assemble(specs, went)
    assert (made.run.selected, made.run.complete) == (2, complete)
    row = next(row for row in made.kernels if row.name == "ulog_f32")
    assert (row.status, row.message, row.lost) == ("not_run", message, complete)
    assert sum(row.message is not None for row in made.kernels) == 1
