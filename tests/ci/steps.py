"""The shell steps of CI files, run as the CI would run them, but for what downloads."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cli.small_port import ROOT

_GITHUB = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c"]


@dataclass(frozen=True)
class Done:
    """Whether a job ended well, which steps ran, and what they said."""

    ok: bool
    ran: list[str]
    out: str


def load(name: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((ROOT / name).read_text())
    return loaded


def environment(folder: Path) -> dict[str, str]:
    """One with ``candle-parity`` of this tree in it: the programs lie next to ``folder``."""
    path = f"{folder.parent / 'programs'}:{os.environ['PATH']}"
    github = {"RUNNER_TEMP": str(folder.parent / "temp"), "GITHUB_RUN_ID": "7"}
    others = {"CI_PIPELINE_ID": "7", "SLURM_ARRAY_JOB_ID": "7", "SLURM_JOB_DEPENDENCY": "afterany:7_*(unfulfilled)"}
    return os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"} | github | others


def shell(script: str, folder: Path, variables: Mapping[str, str]) -> tuple[int, str]:
    """What ``script`` answers in ``folder``, started as GitHub starts a step."""
    done = subprocess.run(
        [*_GITHUB, script],
        cwd=folder,
        env=environment(folder) | dict(variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def run_action(folder: Path, **given: str) -> Done:
    """The steps of action.yml with inputs, in the port at ``folder``; what is installed or uploaded is left out."""
    action = load("action.yml")
    values = {name: str(row.get("default", "")) for name, row in action["inputs"].items()}
    values |= {name.replace("_", "-"): value for name, value in given.items()}
    ok, ran, said = True, [], []
    for step in action["runs"]["steps"]:
        if "run" not in step or step["name"] == "install" or not wanted(step.get("if", "true"), values, ok):
            continue
        variables = {name: filled(text, values) for name, text in step.get("env", {}).items()}
        summary = {"GITHUB_STEP_SUMMARY": str(folder.parent / "summary.md")}
        place = folder / filled(step.get("working-directory", "."), values)
        code, out = shell(step["run"], place, variables | summary)
        ok = ok and code == 0
        ran.append(step["name"])
        said.append(out)
    return Done(ok, ran, "".join(said))


def filled(text: str, values: Mapping[str, str]) -> str:
    """``text`` with the values of its expressions."""
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text)


def wanted(condition: str, values: Mapping[str, str], ok: bool) -> bool:
    """Whether a step runs: comparisons of inputs with texts, joined by ``&&``, and ``always()``."""
    parts = condition.split(" && ")
    if "always()" not in parts and not ok:
        return False
    for part in parts:
        found = re.fullmatch(r"inputs\.([\w-]+) (==|!=) '(.*)'", part)
        assert found or part in ("always()", "true"), part
        if found and (values[found[1]] == found[3]) != (found[2] == "=="):
            return False
    return True
