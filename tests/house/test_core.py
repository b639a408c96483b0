"""What a run on the host loads: the core, and no wing."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = """
from conformance.cli.main import main
assert main(["run", "uexp_f32", "--runtime", "cpu", "--kernels", "shipped", "-q"]) == 0
"""
PROCESSES = {
    "command": RUN,
    "judge": "import conformance.engine.judge_process",
    "executor": "import conformance.engine.executor",
}

FILES = {
    *(
        "cache",
        "dtypes",
        "environment",
        "errors",
        "files",
        "adapter",
        "geometry",
        "notices",
        "option",
        "outcome",
        "own",
        "reading",
        "repository",
    ),
    *("settings", "status", "text", "writing"),
}
"""Files of conformance/ itself."""

CORE = {
    *("spec", "cases", "cases.families", "verdict"),
    *("port", "port.compiling", "port.declared", "port.definitions", "toolchains"),
    *("processes", "engine", "runtimes", "runtimes.hip", "runtimes.cpu", "runtimes.kind"),
    *("record", "report", "session", "cli", "cli.commands"),
}

WINGS = {
    "runtimes": {"isa", "cuda", "rocm"},
    "report": {"html", "board", "causes", "markdown", "short_report", "ci", "bench"},
    "port": {"check"},
    "engine": {"timing", "recordings", "reference_judge"},
}
"""Some of what stays out, by folder: reports that nobody asked for, and causes where nothing has failed."""


def loaded(code: str) -> set[str]:
    """The modules of ours that a process has after ``code``, without ``conformance.``."""
    listing = f"{code}\nimport sys\nprint(*(name for name in sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    ours = (name.partition(".") for name in done.stdout.split())
    return {rest for first, _, rest in ours if first == "conformance" and rest}


def rooms(modules: set[str]) -> set[str]:
    """The folders of ``modules``, and a file of conformance/ itself by its name."""
    return {name if name in FILES | CORE else name.rpartition(".")[0] or name for name in modules}


@pytest.mark.slow("starts a run")
@pytest.mark.parametrize("process", PROCESSES)
def test_a_run_on_the_host_loads_the_core(process: str) -> None:
    found = loaded(PROCESSES[process])
    assert "engine" in found
    assert rooms(found) - FILES - CORE == set()
    wings = {f"{folder}.{part}" for folder, parts in WINGS.items() for part in parts}
    assert found & wings == set()


@pytest.mark.slow("starts a run")
def test_a_wing_would_be_seen() -> None:
    found = loaded(f"{PROCESSES['executor']}\nimport conformance.upstream.checkout, conformance.runtimes.isa.kind")
    assert rooms(found) - FILES - CORE >= {"upstream", "runtimes.isa"}
