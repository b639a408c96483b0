"""The files that a port's CI uses, on a small port: green, and red once a kernel is broken."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from conformance.outcome import KernelResult
from conformance.record import Record, RunInfo, record_text
from conformance.spec.load import load_specs
from conformance.toolchains.amd import find_toolchain
from conformance.toolchains.targets import AmdError, targets_of
from tests.ci.server import program
from tests.ci.steps import load, run_action, shell
from tests.cli.small_port import ROOT, declare, small_port

GATE = "[tool.candle-parity.gate]\nfail_under = 0.2\n"
TARGETS = "gfx90a,gfx942,gfx1030,gfx1100,gfx1201"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with program(tmp_path_factory.mktemp("program")) as folder:
        yield folder


@pytest.fixture
def port(tmp_path: Path, programs: Path) -> Path:
    """A repository at 0.26% with a gate of 0.2%."""
    (tmp_path / "programs").symlink_to(programs)
    folder = tmp_path / "repository"
    folder.mkdir()
    small_port(folder)
    declare(folder, more=GATE)
    return folder


def damage(port: Path) -> None:
    """One kernel fewer is right: 0.13%."""
    file = port / "port" / "fill.hip"
    file.write_text(file.read_text().replace("FILL(fill_f32, float)", "FILL(fill_f32, double)"))


@pytest.fixture
def amd() -> None:
    try:
        find_toolchain(targets_of(TARGETS))
    except AmdError as error:
        pytest.skip(f"nothing compiles for AMD targets: {error}")


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
def test_the_action_is_green_and_red(port: Path) -> None:
    done = run_action(port, targets="")
    assert done.ok, done.out
    assert done.ran == ["clean", "check", "run", "report"]
    assert "gate 0.2%: met" in done.out
    assert "::error file=port/fill.hip,line=9,title=candle-parity%3A " in done.out
    assert "::warning" not in done.out
    assert "2 of 748" in (port.parent / "summary.md").read_text()
    out = port / ".parity"
    assert "cpu wave64 0.2%" in (out / "badge.svg").read_text()
    suite = ElementTree.parse(out / "junit.xml")
    assert len(suite.findall(".//testcase")) == 748
    assert suite.findall(".//failure") == [], "the gate allows what fails, and the step is green"
    assert (out / "parity.html").exists()
    assert run_action(port, targets="").ok
    assert json.loads((out / "record.json").read_text())["run"]["kept"] == 2, "what passed before is not run again"
    damage(port)
    done = run_action(port, targets="")
    assert not done.ok
    assert done.ran == ["clean", "check", "run", "report"]
    assert "gate 0.2%: NOT met" in done.out
    assert ElementTree.parse(out / "junit.xml").findall(".//failure") != []
    assert "1 of 748" in (port.parent / "summary.md").read_text()


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
def test_the_actions_gate_and_strictness_are_inputs(port: Path) -> None:
    done = run_action(port, targets="", fail_under="50")
    assert "gate 50%: NOT met" in done.out
    assert not done.ok
    file = port / "port" / "fill.hip"
    file.write_text(file.read_text() + 'extern "C" __global__ void fill_i64(long *buf) {}\n')
    done = run_action(port, targets="")
    assert done.ok
    assert "::warning title=candle-parity::check found names or parameters that are not Candle's" in done.out
    done = run_action(port, targets="", strict="true")
    assert (done.ok, done.ran) == (False, ["clean", "check", "report"])


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
@pytest.mark.parametrize(("percent", "met"), [("0", True), ("2", False)])
def test_the_launchers_have_a_gate_of_their_own_as_an_input(port: Path, percent: str, met: bool) -> None:
    """The port has none of the launchers, and its kernels' gate of 0.2% is met."""
    done = run_action(port, targets="", fail_under_launchers=percent)
    verdict = f"launchers 0.00% (0 of 49), gate {percent}%: {'' if met else 'NOT '}met"
    assert done.ok == met, done.out
    assert "gate 0.2%: met" in done.out
    assert verdict in done.out
    part = port.parent / "parts" / "part-1"
    part.mkdir(parents=True)
    (port / ".parity" / "record.json").rename(part / "record.json")
    done = run_action(port, join=str(part.parent), fail_under_launchers=percent)
    assert (done.ok, done.ran) == (met, ["clean", "join", "report"]), done.out
    assert verdict in done.out


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
@pytest.mark.usefixtures("amd")
def test_the_action_builds_for_five_targets(port: Path) -> None:
    done = run_action(port)
    assert done.ok, done.out
    assert done.ran == ["clean", "check", "build", "run", "report"]
    assert "gfx1201: 3 of Candle's 748 kernels compile; nothing was executed" in done.out
    assert "gfx1201" in (port / ".parity" / "PARITY.md").read_text()


@pytest.fixture
def listed(tmp_path: Path, programs: Path) -> Path:
    """A folder with a list of one port, whose address is that of a repository of this machine."""
    (tmp_path / "programs").symlink_to(programs)
    source, folder = tmp_path / "source", tmp_path / "list"
    for each in (source, folder):
        each.mkdir()
    small_port(source)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(source), *words], check=True)
    head = subprocess.run(["git", "-C", str(source), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    (folder / "ports.toml").write_text(
        f'[[port]]\nname = "mine"\nrepository = "https://git.example/mine"\ncommit = "{head.stdout.strip()}"\n'
        'kernels = "mine/port"\nruns = ["--runtime cpu --jobs 1 --order forward fill_u32"]\n'
    )
    return folder


def board_step(folder: Path, name: str) -> tuple[int, str]:
    (job,) = load(".github/workflows/board.yml")["jobs"].values()
    (step,) = (step["run"] for step in job["steps"] if step.get("name") == name)
    address = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{(folder.parent / 'source').as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://git.example/mine",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    return shell(step.replace(".venv/bin/", ""), folder, {"LIST": "ports.toml", **address})


@pytest.mark.slow("a CI's steps, each in processes of their own")
def test_the_board_workflow_judges_what_the_list_names(listed: Path) -> None:
    (listed / "records").mkdir()
    (listed / "records" / "forged.json.xz").write_text("a record that the repository brings")
    assert board_step(listed, "clean") == (0, "")
    code, out = board_step(listed, "judge")
    assert code == 0, out
    assert (listed / "checkouts" / "mine" / "port" / "fill.hip").exists()
    assert [file.name for file in (listed / "records").iterdir()] == [
        "mine.runtime-cpu-jobs-1-order-forward-fill-u32.json.xz"
    ]
    code, out = board_step(listed, "board")
    assert code == 0, out
    assert "mine" in (listed / "BOARD.md").read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"mine"', '"../mine"'),
        ('"mine"', '"$(touch ran)"'),
        ("https://git.example/mine", "ext::sh -c touch% ran"),
        ("https://git.example/mine", "https://git.example/$(touch ran)"),
        ("fill_u32", "--html ran"),
    ],
)
@pytest.mark.slow("runs the steps of a workflow")
def test_the_board_workflow_checks_the_list_before_it_fetches(listed: Path, old: str, new: str) -> None:
    file = listed / "ports.toml"
    file.write_text(file.read_text().replace(old, new))
    code, out = board_step(listed, "judge")
    assert code != 0, out
    assert not (listed / "ran").exists()
    assert not (listed.parent / "mine").exists()
    assert not (listed / "checkouts").exists()


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
@pytest.mark.parametrize("good", [True, False])
def test_the_action_joins_parts(port: Path, good: bool) -> None:
    if not good:
        damage(port)
    parts = port.parent / "parts"
    for number in (1, 2):
        done = run_action(port, targets="", shard=f"{number}/2")
        assert done.ok, done.out
        (parts / f"part-{number}").mkdir(parents=True)
        (port / ".parity" / "record.json").rename(parts / f"part-{number}" / "record.json")
    done = run_action(port, join=str(parts))
    assert done.ok == good
    assert done.ran == ["clean", "join", "report"]
    assert f"gate 0.2%: {'' if good else 'NOT '}met" in done.out
    (parts / "part-2" / "record.json").unlink()
    done = run_action(port, join=str(parts))
    assert not done.ok
    assert "not decided: a shard is missing" in done.out


def test_a_port_that_cannot_be_read_is_one_sentence(port: Path) -> None:
    declare(port, kernels="nowhere")
    done = run_action(port, targets="")
    assert not done.ok
    assert done.out.count("candle-parity: ") == 1
    assert "Traceback" not in done.out


def test_the_workflow_uses_what_there_is() -> None:
    workflow, action = load(".github/workflows/parity.yml"), load("action.yml")
    inputs = workflow[True]["workflow_call"]["inputs"]  # YAML takes "on" for true
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    ours = [step for step in steps if step.get("uses") == "./.candle-parity"]
    assert len(ours) == len(workflow["jobs"]) == 3
    assert {key for step in ours for key in step["with"]} <= set(action["inputs"])
    for name, known in (("action.yml", action["inputs"]), (".github/workflows/parity.yml", inputs)):
        used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / name).read_text()))
        assert used == set(known)
    for step in [*steps, *action["runs"]["steps"]]:
        assert "${{" not in step.get("run", ""), "an expression in a script is code of who names a branch"
        uses = step.get("uses", "./")
        assert uses.startswith("./") or re.fullmatch(r"actions/[\w/-]+@v4", uses)


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
@pytest.mark.parametrize("good", [True, False])
def test_gitlab(port: Path, good: bool) -> None:
    if not good:
        damage(port)
    jobs = load_gitlab()
    code, out = shell("\n".join(script(jobs, "parity-host", leave_out="build")), port, {})
    assert code == (not good), out
    assert f"gate 0.2%: {'' if good else 'NOT '}met" in out
    code, out = shell("\n".join(jobs["parity-host"]["after_script"]), port, {"HOME": str(port)})
    assert code == 0
    assert (port / ".parity" / "badge.svg").exists()
    for number in ("1", "2"):
        lines = "\n".join(script(jobs, "parity-rocm", leave_out="doctor")).replace("--runtime rocm", "--runtime cpu")
        code, out = shell(lines, port, {"CI_NODE_INDEX": number, "CI_NODE_TOTAL": "2"})
        assert code == 0, out
    code, out = shell("\n".join(script(jobs, "parity-join")), port, {})
    assert code == (not good), out
    assert json.loads((port / ".parity" / "rocm.json").read_text())["run"]["shard"] is None
    code, out = shell("\n".join(jobs["parity-join"]["after_script"]), port, {"HOME": str(port)})
    assert code == 0, out


def script(jobs: dict[str, dict[str, list[str]]], job: str, leave_out: str = "none") -> list[str]:
    return [line for line in jobs[job]["script"] if f"candle-parity {leave_out}" not in line]


def load_gitlab() -> dict[str, dict[str, list[str]]]:
    class Loader(yaml.SafeLoader):
        """Knows GitLab's !reference."""

    Loader.add_constructor("!reference", lambda loader, node: loader.construct_sequence(node))
    loaded: dict[str, dict[str, list[str]]] = yaml.load((ROOT / "ci" / "gitlab-ci.yml").read_text(), Loader)
    return loaded


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
@pytest.mark.parametrize("good", [True, False])
def test_the_slurm_job_array(port: Path, good: bool) -> None:
    if not good:
        damage(port)
    array = shlex.quote(str(ROOT / "ci" / "slurm-array.sh"))
    for task in range(2):
        numbers = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "0"}
        code, out = shell(array, port, numbers | {"PARITY_OPTIONS": "--runtime cpu --jobs 1"})
        assert code == 0, out
        assert f"shard {task + 1}/2" in out
    code, out = shell(f"{array} join", port, {})
    assert code == (not good)
    assert f"gate 0.2%: {'' if good else 'NOT '}met" in out
    assert (port / ".parity" / "record.json").exists()
    (port / ".parity" / "slurm-7" / "part-1.json").unlink()
    code, out = shell(f"{array} join", port, {})
    assert code == 2
    assert "not decided: a shard is missing" in out


# ---- a hostile repository: one that brings the record of a port at 100%


@pytest.fixture(scope="module")
def forged() -> str:
    """The text of a record in which every kernel passes."""
    specs = load_specs()
    rows = [
        KernelResult(
            **{k: getattr(kernel, k) for k in ("name", "module", "family", "upstream")}, status="pass", cases=1
        )
        for kernel in specs.kernels.values()
    ]
    about = {"runtime": "cpu", "device": "a forger's", "started": "2026-01-02T03:04:05Z", "seconds": 1.0}
    run = RunInfo(**about, wave=64, upstream_commit=specs.upstream_commit, specs_digest=specs.digest)
    return record_text(Record.of(run, rows))


NAMES = ("record.json", "build.json", "part-1.json", "part-2.json", "rocm.json")


@pytest.fixture(params=["files", "links", "a linked folder"])
def hostile(request: pytest.FixtureRequest, port: Path, forged: str) -> Path:
    """The port, which cannot be judged, with such a record wherever a job writes one, or as links to a victim."""
    victim = port.parent / "victim.json"
    victim.write_text(forged)
    out = port / ".parity"
    if request.param == "a linked folder":
        (port.parent / "elsewhere").mkdir()
        out.symlink_to(port.parent / "elsewhere")
    for name in NAMES:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        if request.param == "links":
            (out / name).symlink_to(victim)
        else:
            (out / name).write_text(forged)
    for name in ("PARITY.md", "parity.html", "junit.xml", "summary.md", "badge.svg"):
        (out / name).write_text("748 of 748")
    file = port / "candle-parity.toml"
    if not file.exists():
        file = port / "pyproject.toml"
    file.write_text(file.read_text().replace("[tool.candle-parity.gate]", "unknown = 1\n[tool.candle-parity.gate]"))
    for words in (["init", "-q"], ["add", "-f", "."]):
        subprocess.run(["git", "-C", str(port), *words], check=True)
    return port


def unharmed(port: Path, forged: str, out: str) -> None:
    """Nothing said that all is well, no report was left or made, and no file elsewhere was written."""
    assert "748 of 748" not in out
    assert (port.parent / "victim.json").read_text() == forged
    left = [file for file in (port / ".parity").glob("**/*") if file.is_file()]
    assert [file.name for file in left if "748 of 748" in file.read_text() or file.read_text() == forged] == []


def test_the_action_takes_no_record_that_the_repository_brings(hostile: Path, forged: str) -> None:
    done = run_action(hostile, targets="")
    assert not done.ok
    assert done.ran == ["clean", "check", "report"]
    unharmed(hostile, forged, done.out)
    assert not (hostile.parent / "summary.md").exists()


def test_the_action_joins_no_record_of_another_run(port: Path, forged: str) -> None:
    part = port.parent / "parts" / "part-1" / "record.json"
    part.parent.mkdir(parents=True)
    part.write_text(forged)
    done = run_action(port, join=str(part.parent.parent))
    assert not done.ok
    assert "the record is not of this run: its run_id is none, and --run-id asks for github-7" in done.out
    assert not (port / ".parity" / "record.json").exists()


def gitlab_job(port: Path, name: str, leave_out: str = "none") -> tuple[int, str]:
    """A job's lines but for those that install, then what follows it, as GitLab does whatever became of the job."""
    job = load_gitlab()[name]
    before = [line for line in job.get("before_script", ()) if str(line).startswith(("rm ", "git "))]
    code, out = shell("\n".join([*before, *script(load_gitlab(), name, leave_out)]), port, {})
    after = shell("\n".join(job.get("after_script", ())), port, {"HOME": str(port)})[1]
    return code, out + after


def test_gitlab_takes_no_record_that_the_repository_brings(hostile: Path, forged: str) -> None:
    code, out = gitlab_job(hostile, "parity-host", leave_out="build")
    assert code != 0
    unharmed(hostile, forged, out)


@pytest.mark.slow("a CI's jobs, each a chain of commands")
def test_gitlab_joins_no_record_that_the_repository_brings(hostile: Path, forged: str) -> None:
    code, out = gitlab_job(hostile, "parity-join")
    assert code != 0
    unharmed(hostile, forged, out)


def test_gitlab_does_not_judge_with_a_cache_that_the_repository_brings(port: Path) -> None:
    cache = port / ".candle-parity-cache"
    (cache / "objects").mkdir(parents=True)
    (cache / "objects" / "forged.object").write_text("")
    for words in (["init", "-q"], ["add", "-f", "."]):
        subprocess.run(["git", "-C", str(port), *words], check=True)
    name = load_gitlab()["variables"]["CANDLE_PARITY_CACHE"].replace("$CI_PROJECT_DIR", str(port))
    for command in ("run --runtime cpu --json .parity/record.json", "check --partial"):
        code, out = shell(f"candle-parity {command}", port, {"CANDLE_PARITY_CACHE": name})
        assert code == 2, out
        assert "the cache folder holds" in out
        assert "which its repository has committed; name another folder in CANDLE_PARITY_CACHE" in out


@pytest.mark.parametrize("place", [".parity", ".parity/slurm-7"])
def test_slurm_joins_no_part_that_the_repository_brings(port: Path, forged: str, place: str) -> None:
    (port / place).mkdir(parents=True)
    (port / place / "part-1.json").write_text(forged)
    array = shlex.quote(str(ROOT / "ci" / "slurm-array.sh"))
    code, out = shell(f"{array} join", port, {})
    assert code == 2, out
    assert "gate 0.2%: met" not in out
    assert not (port / ".parity" / "record.json").exists()


def test_slurm_asks_for_the_array_job_where_it_is_not_known(port: Path) -> None:
    array = shlex.quote(str(ROOT / "ci" / "slurm-array.sh"))
    code, out = shell(f"{array} join", port, {"SLURM_JOB_DEPENDENCY": ""})
    assert (code, "name it: ci/slurm-array.sh join --run-id slurm-NUMBER" in out) == (2, True), out


def test_caches_are_kept_though_a_job_fails() -> None:
    steps = {step["name"]: step for step in load("action.yml")["runs"]["steps"]}
    assert steps["restore"]["uses"].startswith("actions/cache/restore@")
    assert steps["save"]["uses"].startswith("actions/cache/save@")
    assert steps["save"]["if"].startswith("always() && ")
    assert steps["save"]["with"]["path"] == steps["restore"]["with"]["path"]
    assert load_gitlab()["parity-host"]["cache"]["when"] == "always"  # type: ignore[call-overload]


def blocks(language: str) -> list[str]:
    """The examples of docs/ci.md in a language, without what indents them."""
    text = (ROOT / "docs" / "ci.md").read_text()
    return [textwrap.dedent(block) for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
def test_the_examples_of_the_documentation(port: Path) -> None:
    (declaration,) = map(tomllib.loads, blocks("toml"))
    assert set(declaration["tool"]["candle-parity"]) == {"kernels", "gate"}
    caller, step, _, hooks = map(yaml.safe_load, blocks("yaml"))
    workflow, action = load(".github/workflows/parity.yml"), load("action.yml")
    inputs = workflow[True]["workflow_call"]["inputs"]
    needed = {name for name, row in inputs.items() if row.get("required")}
    assert needed <= set(caller["jobs"]["parity"]["with"]) <= set(inputs)
    assert set(step[0]["with"]) <= set(action["inputs"])
    assert hooks["repos"][0]["hooks"][0]["id"] == load(".pre-commit-hooks.yaml")[0]["id"]
    code, out = shell(blocks("sh")[-1].replace("#", "|| [ $? = 1 ] #"), port, {})
    assert code == 0, out
    assert "gate 0.2%: met" in out
    assert "::error file=port/fill.hip,line=9" in out
    assert (port / "parity.html").exists()


@pytest.mark.nightly("a CI's jobs, each a chain of commands in processes of their own")
def test_the_pre_commit_hook(port: Path) -> None:
    (hook,) = load(".pre-commit-hooks.yaml")
    assert hook["pass_filenames"] is False
    assert re.search(hook["files"], "port/fill.hip")
    assert shell(hook["entry"], port, {})[0] == 0
    file = port / "port" / "fill.hip"
    file.write_text(file.read_text() + 'extern "C" __global__ void fill_i64(long *buf) {}\n')
    code, out = shell(hook["entry"], port, {})
    assert code == 1
    assert "fill.hip:10" in out
