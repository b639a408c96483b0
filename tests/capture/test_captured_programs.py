"""``candle-parity capture``: a program that knows nothing of the harness, on an AMD GPU that is interpreted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.files import kernels_folder
from tests.capture.conftest import ARCH, PROGRAMS, Network, candle_parity, capture

FIRST_LAUNCH = {
    "is_u32_f32": 1,
    "layernorm_f32": 2,
    "quantize_q8_1": 3,
    "mul_mat_vec_q4_0_q8_1_cuda4": 4,
    "badd_f32": 5,
    "urelu_f32": 6,
    "rmsnorm_f32": 7,
    "rope_f32": 8,
    "affine_f32": 9,
    "softmax_f32": 10,
}
"""The kernels of the program, and which of its 10 launches is the first of each."""


@pytest.mark.nightly("builds two runtimes and a program, and judges 10 launches")
def test_nothing_is_wrong_where_nothing_is_planted(tmp_path: Path, network: Network) -> None:
    record = tmp_path / "record.json"
    done = capture(tmp_path / "launches", *network.words(), options=("--json", record))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "the probabilities add up to 4.0000"
    assert lines[-1] == "10 launches judged, all right"
    assert [line.split()[0] for line in lines[2:12]] == [
        *("is_u32_f32", "layernorm_f32", "quantize_q8_1", "mul_mat_vec_q4_0_q8_1_cuda4", "badd_f32", "urelu_f32"),
        *("rmsnorm_f32", "rope_f32", "affine_f32", "softmax_f32"),
    ]
    content = json.loads(record.read_text())
    assert content["summary"]["pass"] == len(FIRST_LAUNCH)
    assert content["run"]["program"] == f"{network.program} {network.right}"
    assert content["run"]["device"] != "gfx1100"
    launched = {row["name"]: row["launched_by"] for row in content["kernels"]}
    assert launched["rope_f32"] == [{"program": content["run"]["program"], "launches": 1}]
    assert launched["uexp_f32"] == []


@pytest.mark.nightly("runs the program, and compiles and interprets the kernel four times")
def test_a_wrong_launch_is_shrunk_and_fails_in_every_run_until_the_kernel_is_mended(
    tmp_path: Path, network: Network
) -> None:
    out, file = tmp_path / "launches", tmp_path / "candle-parity.toml"
    (tmp_path / "kernels.hip").write_bytes((PROGRAMS / "kernels.hip").read_bytes())
    capture(out, *network.words("rope_f32"))
    include = f'include_dirs = ["{kernels_folder() / "include"}"]'
    declared = f'kernels = "kernels.hip"\nruntime = "isa"\narch = "{ARCH}"\n{include}\n'
    file.write_text(f'{declared}defines = ["PLANTED"]\n')
    said = candle_parity("new", "--config", file, "--case-from", f"{out}#{FIRST_LAUNCH['rope_f32']}").stdout
    assert said.splitlines()[1].startswith("shrunk to 1 of its 2 items, from item 0 on")
    for defines, code in (('defines = ["PLANTED"]\n', 1), ("", 0)):
        file.write_text(declared + defines)
        done = candle_parity("run", "--config", file, "-q", "rope_f32(trace=*)")
        assert done.returncode == code, done.stderr
    assert "isa gfx1100 wave32: 1 of 1 selected passes (of 748)" in done.stdout


@pytest.mark.nightly("runs the program and judges 10 launches for each kernel")
@pytest.mark.parametrize("kernel", FIRST_LAUNCH)
def test_the_kernel_with_a_mistake_and_its_first_launch_are_named(
    tmp_path: Path, network: Network, kernel: str
) -> None:
    out = tmp_path / "launches"
    done = capture(out, *network.words(kernel))
    assert (done.returncode, done.stderr) == (1, "")
    case = f"{kernel}(trace={FIRST_LAUNCH[kernel]})"
    assert f"the first in the program's order is launch {FIRST_LAUNCH[kernel]}:\n{kernel}: fail" in done.stdout
    assert f"candle-parity replay {out} --subject reference '{case}'" in done.stdout
    wrong = [line.split()[0] for line in done.stdout.splitlines()[2:12] if not line.endswith(" 0")]
    assert wrong == [kernel]


@pytest.mark.nightly("builds two runtimes and a program")
def test_the_command_that_is_printed_shows_the_wrong_launch_again(tmp_path: Path, network: Network) -> None:
    out = tmp_path / "launches"
    assert capture(out, *network.words("rope_f32"), options=("--only", "rope*")).returncode == 1
    done = candle_parity("replay", out, "--subject", "reference", "rope_f32(trace=8)")
    assert done.returncode == 1
    assert "rope_f32: fail, 1 of 1 cases" in done.stdout
    assert f"launches of {network.program}" in " ".join(done.stdout.split())


def of_launcher(out: Path, network: Network, mode: str, *options: object) -> subprocess.CompletedProcess[str]:
    """Capture ``programs/launcher.py`` in ``mode``."""
    return capture(out, sys.executable, PROGRAMS / "launcher.py", network.right, mode, options=options)


def row(done: subprocess.CompletedProcess[str], kernel: str = "urelu_f32") -> list[int]:
    """Launches, shapes, judged, right and wrong of ``kernel``."""
    (found,) = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith(f"{kernel} ")]
    return [int(word) for word in found]


@pytest.mark.nightly("builds two runtimes and a program")
def test_a_program_that_loads_the_library_itself_is_seen(tmp_path: Path, network: Network) -> None:
    done = of_launcher(tmp_path / "launches", network, "end")
    assert (done.returncode, done.stderr) == (0, "")
    assert row(done) == [1, 1, 1, 1, 0]


@pytest.mark.nightly("builds two runtimes and a program")
@pytest.mark.parametrize("how", ["packed", "threads", "configuration", "library"])
def test_a_launch_is_seen_whichever_way_it_is_made(tmp_path: Path, network: Network, how: str) -> None:
    done = of_launcher(tmp_path / "launches", network, how)
    assert (done.returncode, done.stderr) == (0, "")
    assert row(done) == [2, 1, 2, 2, 0]


@pytest.mark.nightly("builds two runtimes and two programs")
def test_launches_in_the_source_of_a_program_are_seen(tmp_path: Path, network: Network) -> None:
    build = ("hipcc", "-O1", PROGRAMS / "inline.hip", "-o", tmp_path / "inline")
    assert candle_parity("emulate", "--arch", ARCH, "--", *build).returncode == 0
    done = capture(tmp_path / "launches", tmp_path / "inline")
    assert (done.returncode, done.stderr) == (0, "")
    assert row(done) == [2, 1, 2, 2, 0]


@pytest.mark.nightly("builds two runtimes and two programs")
def test_a_launch_in_an_extension_of_python_is_seen(tmp_path: Path, network: Network) -> None:
    """Python loads it, and libamdhip64 with it, for itself (RTLD_LOCAL)."""
    extension = tmp_path / "libinline.so"
    build = ("hipcc", "-O1", "-shared", "-fPIC", "-Dmain=run", PROGRAMS / "inline.hip", "-o", extension)
    assert candle_parity("emulate", "--arch", ARCH, "--", *build).returncode == 0
    run = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1])._Z3runv())"
    done = capture(tmp_path / "launches", sys.executable, "-c", run, extension)
    assert (done.returncode, done.stderr) == (0, "")
    assert row(done) == [2, 1, 2, 2, 0]


@pytest.mark.nightly("builds two runtimes and two programs")
def test_kernels_inside_of_launchers_are_judged_by_the_launchers_or_named(tmp_path: Path, network: Network) -> None:
    program = tmp_path / "launchers"
    build = ("hipcc", "-O1", PROGRAMS / "launchers.hip", "-o", program)
    assert candle_parity("emulate", "--arch", ARCH, "--", *build).returncode == 0
    done = capture(tmp_path / "launches", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert row(done, "launch_mmvq_gguf_quantize_q8_1_f32") == [1, 1, 1, 1, 0]
    assert row(done, "quantize_q8_1") == [1, 1, 1, 1, 0]  # its symbol is mangled
    others = "scaled<float,3> (1 launch), scaled<unsigned char,5> (2 launches)"
    assert f"in no spec, and not recorded: {others}" in done.stdout


@pytest.mark.nightly("builds two runtimes and two programs")
def test_a_wrong_kernel_inside_of_a_launcher_is_shown_again(tmp_path: Path, network: Network) -> None:
    program, out = tmp_path / "launchers", tmp_path / "launches"
    build = ("hipcc", "-O1", "-DPLANTED", PROGRAMS / "launchers.hip", "-o", program)
    assert candle_parity("emulate", "--arch", ARCH, "--", *build).returncode == 0
    done = capture(out, program, options=("--only", "launch_mmvq*"))
    assert done.returncode == 1
    case = "launch_mmvq_gguf_quantize_q8_1_f32(trace=1)"
    assert f"candle-parity replay {out} --subject reference '{case}'" in done.stdout
    again = candle_parity("replay", out, "--subject", "reference", case)
    assert (again.returncode, "vy[35]" in again.stdout) == (1, True)


@pytest.mark.nightly("builds two runtimes and a program")
def test_launches_on_a_second_device_are_judged(tmp_path: Path, network: Network) -> None:
    capturing = (sys.executable, "-m", "conformance", "capture", "-o", tmp_path / "launches", "--", sys.executable)
    words = (PROGRAMS / "launcher.py", network.right, "second")
    done = candle_parity("emulate", "--arch", ARCH, "--devices", 2, "--", *capturing, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert row(done) == [2, 2, 2, 2, 0]


@pytest.mark.nightly("builds two runtimes and a program")
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("signal", "was ended by signal SIGSEGV; what it launched until then is recorded"),
        ("exit", "ended with exit code 3; what it launched until then is recorded"),
    ],
)
def test_what_was_recorded_before_a_program_ended_badly_is_judged(
    tmp_path: Path, network: Network, mode: str, said: str
) -> None:
    done = of_launcher(tmp_path / "launches", network, mode)
    assert (done.returncode, done.stderr) == (0, f"candle-parity: {sys.executable} {said}\n")
    assert row(done) == [1, 1, 1, 1, 0]


@pytest.mark.nightly("builds two runtimes and a program")
def test_a_process_that_was_forked_has_launches_of_its_own(tmp_path: Path, network: Network) -> None:
    done = of_launcher(tmp_path / "launches", network, "fork")
    assert done.stderr == "candle-parity: 2 processes launched kernels; their launches are numbered by time\n"
    assert row(done) == [2, 2, 2, 2, 0]


@pytest.mark.nightly("builds two runtimes and a program")
def test_a_kernel_with_other_parameters_is_not_recorded(tmp_path: Path, network: Network) -> None:
    done = of_launcher(tmp_path / "launches", network, "parameters")
    assert (done.returncode, row(done, "uneg_f32")) == (0, [1, 1, 0, 0, 0])
    assert (
        "uneg_f32: 1 launch not recorded: the kernel's parameters are not those of Candle's kernel of that name"
        in done.stdout
    )


@pytest.mark.nightly("builds two runtimes and a program")
def test_the_device_is_not_waited_for_while_a_stream_is_captured(tmp_path: Path, network: Network) -> None:
    done = of_launcher(tmp_path / "launches", network, "graph")
    assert (done.returncode, done.stderr, row(done)) == (0, "", [3, 1, 2, 2, 0])
    assert "urelu_f32: 1 launch not recorded: a stream was captured into a graph meanwhile" in done.stdout


@pytest.mark.nightly("builds two runtimes and a program")
def test_buffers_are_bounded(tmp_path: Path, network: Network) -> None:
    done = of_launcher(tmp_path / "launches", network, "large", "--most-bytes", 1)
    assert (done.returncode, row(done)) == (0, [2, 2, 1, 1, 0])
    assert "urelu_f32: 1 launch not recorded: its buffers go beyond --most-bytes" in done.stdout


@pytest.mark.nightly("builds two runtimes and a program")
@pytest.mark.parametrize(("options", "judged"), [((), 3), (("--first", 1, "--every", 4), 3), (("--first", 20), 10)])
def test_equal_launches_are_sampled(tmp_path: Path, network: Network, options: tuple[object, ...], judged: int) -> None:
    done = of_launcher(tmp_path / "launches", network, "equal", *options)
    assert row(done) == [10, 1, judged, judged, 0]


@pytest.mark.nightly("builds two runtimes and a program")
def test_a_full_disk_costs_what_comes_after_it(tmp_path: Path, network: Network) -> None:
    done = of_launcher(tmp_path / "launches", network, "full")
    assert "cannot be written (File too large): no launch is recorded from here on" in done.stderr
    assert "candle-parity: the recording's folder could not be written to the end" in done.stderr
    assert (done.returncode, row(done)) == (0, [1, 1, 1, 1, 0])


@pytest.mark.nightly("builds two runtimes and a program")
def test_a_program_without_a_kernel_of_the_specs_is_told_so(tmp_path: Path, network: Network) -> None:
    done = of_launcher(tmp_path / "launches", network, "own", "--only", "softmax*")
    assert done.returncode == 2
    assert "in no spec, and not recorded: mine (1 launch)" in done.stdout
    assert "2 kernels launched, no launch of a kernel of the specs was recorded: nothing was judged" in done.stderr


@pytest.mark.nightly("builds two runtimes and a program")
def test_what_was_recorded_when_the_harness_ended_is_judged_by_naming_the_folder(
    tmp_path: Path, network: Network
) -> None:
    out = tmp_path / "launches"
    program = f"{sys.executable} {PROGRAMS / 'launcher.py'} {network.right} end; kill -KILL $PPID; sleep 1"
    assert capture(out, "sh", "-c", program).returncode == -9
    assert capture(out, "true").stderr.startswith(f"candle-parity: {out} holds launches already")
    done = candle_parity("capture", "-o", out)
    assert done.returncode == 0
    assert done.stderr.startswith("candle-parity: how the program ended is not known: ")
    assert row(done) == [1, 1, 1, 1, 0]


@pytest.mark.nightly("builds a library")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--", "./no-such-program"), "./no-such-program cannot be started: No such file or directory"),
        (("--", "true"), "no launch of a GPU kernel was seen"),
        ((), "capture needs a program: candle-parity capture -o DIR -- COMMAND"),
        (("--only", "sofmax*", "--", "true"), "--only 'sofmax*' matches no kernel of the specs; did you mean"),
    ],
)
def test_bad_input_is_a_sentence_and_leaves_no_folder(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = candle_parity("capture", "-o", tmp_path / "launches", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "launches").exists()
