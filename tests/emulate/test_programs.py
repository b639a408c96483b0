"""``candle-parity emulate``: HIP programs that know nothing of the harness, on an AMD GPU that is interpreted."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.emulate.installation import (
    FUNCTIONS,
    RUNTIMES,
    SCRIPTS,
    absent_functions,
    emulated_in,
    environment,
    make_folder,
    runtime_plan,
)
from conformance.port.compiling.target import NoHipcc, require_hipcc

PROGRAMS = Path(__file__).with_name("programs")
TARGETS = ("gfx942", "gfx1100")


def functions() -> list[str]:
    return FUNCTIONS.read_text(encoding="utf-8").split()


def emulate(*words: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``candle-parity emulate`` with ``words``."""
    command = [sys.executable, "-m", "conformance", "emulate", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


Build = Callable[..., Path]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds a program of sources of ``PROGRAMS`` for a target by the installation's own hipcc, once."""
    try:
        require_hipcc("gfx942")
    except NoHipcc as error:
        pytest.skip(f"NOTHING COMPILED FOR AMD TARGETS: {error}")
    made: dict[tuple[str, str, str], Path] = {}

    def build(name: str, arch: str, runtime: str = "isa") -> Path:
        if (name, arch, runtime) not in made:
            program = tmp_path_factory.mktemp("programs") / Path(name.split(maxsplit=1)[0]).stem
            sources = [PROGRAMS / word for word in name.split()]
            words = ("--runtime", runtime, "--arch", arch, "--", "hipcc", "-g", *sources, "-lhiprtc")
            done = emulate(*words, "-o", program)
            assert done.returncode == 0, done.stderr
            assert done.stderr == ""
            made[name, arch, runtime] = program
        return made[name, arch, runtime]

    return build


@pytest.mark.nightly("builds the runtimes of programs and six programs")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", [*TARGETS, "gfx1101"])
def test_a_program_with_launches_in_its_source_computes(built: Build, arch: str, runtime: str) -> None:
    done = emulate("--runtime", runtime, "--arch", arch, "--", built("saxpy.hip", arch, runtime))
    assert done.stdout == f"{arch} {64 if arch == 'gfx942' else 32} lanes: 0 of 1000 wrong\n"
    assert (done.returncode, done.stderr) == (0, "")


SOURCES = """\
18 105 107 201
128 1 7
hipErrorInvalidConfiguration 1
"""


@pytest.mark.nightly("builds the runtime of programs and a program of two sources")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", TARGETS)
def test_kernels_are_their_sources_own_and_instances_of_templates_are_found(
    built: Build, arch: str, runtime: str
) -> None:
    program = built("two_sources.hip other_source.hip", arch, runtime)
    done = emulate("--runtime", runtime, "--arch", arch, "--", program)
    assert (done.returncode, done.stdout) == (0, SOURCES), done.stderr
    assert "block (128,1,1): it was compiled for at most 64 threads" in done.stderr


@pytest.mark.nightly("builds the runtime of programs and a program")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", TARGETS)
def test_a_program_that_loads_a_code_object_computes(built: Build, arch: str, runtime: str, tmp_path: Path) -> None:
    code = tmp_path / "saxpy.co"
    options = ("--offload-device-only", "--no-gpu-bundle-output", PROGRAMS / "saxpy.hip", "-o", code)
    given, program = ("--runtime", runtime, "--arch", arch, "--"), built("module.cpp", arch, runtime)
    assert emulate(*given, "hipcc", *options).returncode == 0
    done = emulate(*given, program, code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 199\n", "")
    done = emulate(*given, program, code, "graph")
    assert done.stdout == "1 199\nhipGraphLaunch(executable, stream): hipErrorInvalidHandle\n"


@pytest.mark.nightly("builds the runtime of programs and a program")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", TARGETS)
def test_devices_memory_streams_symbols_and_threads_are_as_programs_use_them(
    built: Build, arch: str, runtime: str
) -> None:
    done = emulate("--runtime", runtime, "--arch", arch, "--devices", 2, "--", built("api.hip", arch, runtime))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.nightly("builds the runtime of programs and two programs")
def test_compressed_code_objects_are_read(built: Build, tmp_path: Path) -> None:
    built("saxpy.hip", "gfx942")  # or skips
    bundle, program = tmp_path / "saxpy.bundle", tmp_path / "saxpy"
    source = PROGRAMS / "saxpy.hip"
    assert emulate("--", "hipcc", "--offload-compress", source, "-o", program).returncode == 0
    assert emulate("--", program).stdout == "gfx942 64 lanes: 0 of 1000 wrong\n"
    assert emulate("--", "hipcc", "--offload-compress", "--genco", source, "-o", bundle).returncode == 0
    assert bundle.read_bytes()[:4] == b"CCOB"
    assert emulate("--", built("module.cpp", "gfx942"), bundle).stdout == "1 199\n"


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
def test_a_bundle_that_is_cut_off_has_no_code(built: Build, tmp_path: Path) -> None:
    """Its entry for the device lies behind the end of the file."""
    target = b"hipv4-amdgcn-amd-amdhsa--gfx942"
    entry = struct.pack("<QQQ", 1 << 40, 16, len(target)) + target
    bundle = tmp_path / "cut.bundle"
    bundle.write_bytes(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1) + entry)
    done = emulate("--", built("module.cpp", "gfx942"), bundle)
    assert done.returncode == 1
    assert "hipModuleLoad: it has no code object for gfx942" in done.stderr


@pytest.mark.nightly("builds the runtime of programs and two programs")
def test_machine_code_is_not_run_as_code_of_the_host(built: Build, tmp_path: Path) -> None:
    code = tmp_path / "saxpy.co"
    assert emulate("--", "hipcc", "--genco", PROGRAMS / "saxpy.hip", "-o", code).returncode == 0
    done = emulate("--runtime", "cpu", "--", built("module.cpp", "gfx942"), code)
    assert done.stdout == "hipModuleLoad(&module, words[1]): hipErrorNoBinaryForGpu\n"
    assert (
        "hipModuleLoad: the code is machine code of AMD GPUs, and here kernels run as code of the host" in done.stderr
    )
    done = emulate("--runtime", "cpu", "--", built("saxpy.hip", "gfx942"))
    assert "hipGetLastError(): hipErrorNoBinaryForGpu" in done.stdout
    assert "hipLaunchKernel: _Z5saxpyifPKfPf: its library: the code is machine code of AMD GPUs" in done.stderr


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
def test_code_for_another_gpu_is_not_launched(built: Build) -> None:
    done = emulate("--arch", "gfx1100", "--", built("saxpy.hip", "gfx942"))
    assert done.returncode == 1
    assert "hipGetLastError(): hipErrorNoBinaryForGpu" in done.stdout
    assert "it has no code object for gfx1100, but for gfx942" in done.stderr


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_fault_names_kernel_line_thread_allocation_and_launch_and_is_an_error_to_the_program(
    built: Build, runtime: str
) -> None:
    done = emulate("--runtime", runtime, "--", built("saxpy.hip", "gfx942", runtime), 100000, folder=PROGRAMS)
    assert done.returncode == 1
    assert "hipGetLastError(): hipErrorIllegalAddress" in done.stdout
    assert re.search(r"kernel saxpy[:,] block \(0,0,0\), thread \(0,0,0\), at ", done.stderr)
    assert "past the end of the 4000-byte allocation of argument 2" in done.stderr
    lines = (PROGRAMS / "saxpy.hip").read_text(encoding="utf-8").splitlines()
    numbers = {word: next(n for n, line in enumerate(lines, 1) if word in line) for word in ("y[i] =", "<<<4, 64>>>")}
    assert f"saxpy.hip:{numbers['y[i] =']} (0x" in done.stderr
    assert done.stderr.endswith(f"; launched at saxpy.hip:{numbers['<<<4, 64>>>']} in main\n")


GRAPHS = """\
1 hipErrorStreamCaptureUnsupported -1 30 4 1 70
hipErrorStreamCaptureUnmatched hipSuccess 0 1
hipErrorStreamCaptureUnmatched hipErrorStreamCaptureUnjoined 1 1
hipErrorStreamCaptureWrongThread
hipSuccess
0 0 0x1010109 2
0
10 4
hipErrorInvalidValue
hipErrorNotSupported
hipErrorNotSupported
"""


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_graphs_are_done_when_launched_and_what_is_not_emulated_is_named_once(built: Build, runtime: str) -> None:
    done = emulate("--runtime", runtime, "--", built("graph.hip", "gfx942", runtime))
    assert done.stdout == GRAPHS
    assert done.stderr.splitlines()[5:] == ["candle-parity: hipMallocArray is not emulated by candle-parity"]
    assert done.returncode == 3


@pytest.mark.nightly("builds the runtime of programs and a program")
def test_how_far_a_long_launch_is_is_told_on_request(built: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPISA_PROGRESS", "1")
    done = emulate("--", built("long.hip", "gfx942"))
    assert "candle-parity: kernel wait: " in done.stderr
    assert " of 2 blocks have begun after 1 s" in done.stderr


@pytest.mark.nightly("builds the runtime of programs and two object files")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_program_is_linked_of_object_files(built: Build, runtime: str, tmp_path: Path) -> None:
    built("saxpy.hip", "gfx942")  # or skips
    code, program = tmp_path / "saxpy.o", tmp_path / "saxpy"
    done = emulate("--runtime", runtime, "--", "hipcc", "-Werror", "-c", PROGRAMS / "saxpy.hip", "-o", code)
    assert (done.returncode, done.stderr) == (0, "")
    done = emulate("--runtime", runtime, "--", "hipcc", "-Werror", code, "-o", program)
    assert (done.returncode, done.stderr) == (0, "")
    assert emulate("--runtime", runtime, "--", program).stdout == "gfx942 64 lanes: 0 of 1000 wrong\n"


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("-c a.hip -o a.o", "-c -x hip a.hip -o a.o"),
        ("-MD -MT a.o -MF a.o.d -o a.o -c a.cpp", "-MD -MT a.o -MF a.o.d -o a.o -c -x hip a.cpp"),
        ("a.cc b.hip -o p", "-x hip a.cc b.hip -o p"),
        ("a.hip b.o libc.so.1 d.cu -o libp.so", "-x hip a.hip -x none b.o libc.so.1 -x hip d.cu -o libp.so"),
        ("b.o -lm -o p", "b.o -lm -o p"),
        ("-x c++ a.cpp -o p", "-x c++ a.cpp -o p"),
    ],
)
def test_hipcc_says_of_each_file_what_it_is_and_takes_no_value_for_a_file(
    tmp_path: Path, words: str, given: str
) -> None:
    script = (SCRIPTS / "hipcc").read_text(encoding="utf-8")
    file = tmp_path / "hipcc"
    file.write_text(script.replace("@COMPILER@", "printf '%s '").replace("@OPTIONS@", ""), encoding="utf-8")
    done = subprocess.run(["sh", file, *words.split()], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith(f"--end-no-unused-arguments --offload-arch=@ARCH@ {given}")


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
def test_build_scripts_find_a_rocm_installation() -> None:
    script = "rocm_agent_enumerator && offload-arch && rocminfo && hipconfig --path"
    done = emulate("--arch", "gfx1101", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["gfx000", "gfx1101", "gfx1101"]
    assert "  Wavefront Size:          32" in lines
    root = Path(lines[-1])
    assert {file.name for file in (root / "lib").iterdir()} >= {"libamdhip64.so", "libamdhip64.so.6", "libhiprtc.so.7"}


@pytest.mark.nightly("builds the runtime of programs and judges a kernel")
def test_a_run_on_the_emulated_gpu_does_not_say_that_it_was_a_gpu(built: Build, tmp_path: Path) -> None:
    built("saxpy.hip", "gfx942")  # or skips
    record = tmp_path / "record.json"
    words = ("run", "uneg_f32", "--runtime", "rocm", "--json", record)
    done = emulate("--arch", "gfx942", "--", sys.executable, "-m", "conformance", *words)
    emulator = "candle-parity emulate (libamdhip64.so)"
    printed = " ".join(done.stdout.split())
    assert f"executed through the ROCm runtime in the emulator {emulator}; not on an AMD GPU" in printed
    assert json.loads(record.read_text())["run"]["emulator"] == emulator


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
def test_a_run_finds_no_rocm_where_kernels_are_code_of_the_host() -> None:
    """It would compile machine code, and blame the kernels that this does not load."""
    words = (sys.executable, "-m", "conformance", "run", "uneg_f32", "--runtime", "rocm")
    done = emulate("--runtime", "cpu", "--", *words)
    assert done.returncode == 2
    assert "no AMD GPU can be used" in done.stderr


COMPILED = """\
_ZN4ours5scaleIfEEvPT_S1_i table
10 13 14 17 18 21 22 25 9 6 0x4200
HIPRTC_ERROR_COMPILATION
wrong.hip:2:8: error: use of undeclared identifier 'undeclared'
100
"""


@pytest.mark.nightly("builds the runtime of programs and a program, which compiles two sources")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("arch", TARGETS)
def test_a_program_compiles_sources_while_it_runs(built: Build, arch: str, runtime: str) -> None:
    done = emulate("--runtime", runtime, "--arch", arch, "--", built("hiprtc.cpp", arch, runtime))
    assert done.stdout == COMPILED
    assert done.stderr == "candle-parity: hiprtcLinkComplete is not emulated by candle-parity\n"
    assert done.returncode == 0


@pytest.mark.nightly("builds the runtime of programs and a program")
def test_a_bundle_of_genco_is_taken_apart_by_the_installation_s_bundler(built: Build, tmp_path: Path) -> None:
    program = built("module.cpp", "gfx942")
    bundle, code = tmp_path / "saxpy.bundle", tmp_path / "saxpy.co"
    done = emulate("--", "hipcc", "--genco", "--offload-arch=gfx942", PROGRAMS / "saxpy.hip", "-o", bundle)
    assert (done.returncode, done.stderr) == (0, "")
    words = ("--unbundle", "--type=o", "--targets=hipv4-amdgcn-amd-amdhsa--gfx942")
    done = emulate("--", "clang-offload-bundler", *words, f"--input={bundle}", f"--output={code}")
    assert (done.returncode, done.stderr) == (0, "")
    assert emulate("--", program, code).stdout == "1 199\n"


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
def test_hipcc_of_the_environment_reads_clang_s_own_headers_for_hip(built: Build) -> None:
    built("graph.hip", "gfx942")  # or skips
    done = emulate("--", "hipcc", "-###", "-c", PROGRAMS / "saxpy.hip", "-o", "saxpy.o")
    assert "__clang_hip_runtime_wrapper.h" in done.stderr


LACKING = """
import ctypes, sys
library = ctypes.CDLL("libamdhip64.so")
print(*(name for name in sys.argv[1:] if not hasattr(library, name)))
"""


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
def test_the_library_has_every_function_of_hip() -> None:
    done = emulate("--", sys.executable, "-c", LACKING, "no_such_function", *functions())
    assert done.stdout == "no_such_function\n", done.stderr


@pytest.mark.nightly("builds the runtime of programs")
def test_a_shell_has_the_variables_that_are_printed_for_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = shutil.which("env")  # prints its environment
    assert shell is not None
    monkeypatch.setenv("SHELL", shell)
    printed, inside = emulate("--arch", "gfx1100", "--print-env"), emulate("--arch", "gfx1100", "--shell")
    variables = printed.stdout.splitlines()
    assert {line.partition("=")[0] for line in variables} >= {"ROCM_PATH", "HIP_PATH", "PATH", "LD_LIBRARY_PATH"}
    assert set(variables) <= set(inside.stdout.splitlines())


@pytest.mark.nightly("builds the runtime of programs, once for all of these tests")
@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -TERM $$", -15)])
def test_how_the_program_ends_is_how_the_command_ends(script: str, code: int) -> None:
    assert emulate("--", "sh", "-c", script).returncode == code


@pytest.mark.nightly("builds the runtime of programs")
def test_a_program_that_cannot_be_started_is_told_as_by_a_shell(tmp_path: Path) -> None:
    missing, text = tmp_path / "missing", tmp_path / "text"
    text.write_text("")
    assert [emulate("--", word).returncode for word in (missing, text, "")] == [127, 126, 127]


@pytest.mark.nightly("starts the command four times")
@pytest.mark.parametrize(
    "words", [(), ("--print-env", "--", "true"), ("--arch", "gfx1", "--", "true"), ("--devices", "0", "--", "true")]
)
def test_bad_usage_is_a_sentence(words: tuple[str, ...]) -> None:
    done = emulate(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("candle-parity")


def test_the_installation_comes_first_and_choices_of_the_caller_stay() -> None:
    given = {"PATH": "/bin", "HIPCPU_TIMEOUT_MS": "5", "HIPISA_TARGET": "gfx906"}
    found = environment(Path("/root"), "gfx942", given)
    assert found["PATH"] == "/root/bin:/bin"
    assert found["LD_LIBRARY_PATH"] == "/root/lib"
    assert (found["HIPCPU_TIMEOUT_MS"], found["HIPISA_TARGET"]) == ("5", "gfx942")
    assert (emulated_in(found), emulated_in(given)) == ("gfx942", None)


def test_kernels_for_the_host_have_the_waves_and_macros_of_the_target_and_the_caller_s_flags(tmp_path: Path) -> None:
    (tmp_path / "libexec").mkdir()
    (tmp_path / "libexec/clang-c++").touch()
    found = environment(tmp_path, "gfx1100", {"HIPCPU_CXXFLAGS": "-DOURS"}, runtime=RUNTIMES[1])
    assert (found["HIPCPU_WAVE"], found["HIPCPU_CXX"]) == ("32", str(tmp_path / "libexec/clang-c++"))
    assert {"-D__gfx1100__=1", "-DOURS"} <= set(found["HIPCPU_CXXFLAGS"].split())
    assert "HIPCPU_WAVE" not in environment(tmp_path, "gfx1100", {})


def test_what_a_killed_process_has_left_of_an_installation_is_removed(tmp_path: Path) -> None:
    (tmp_path / "making-left").mkdir()
    make_folder(tmp_path / "root", {"bin/tool": "#!/bin/sh\n"}, {"lib/libc.so": Path("/libc.so")})
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
    assert os.access(tmp_path / "root/bin/tool", os.X_OK)
    assert (tmp_path / "root/lib/libc.so").readlink() == Path("/libc.so")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_function_of_hip_is_there_or_says_that_it_is_not(runtime: str) -> None:
    names = functions()
    absent = absent_functions(runtime_plan(runtime))
    assert absent == absent_functions(runtime_plan())
    assert names == sorted(set(names))
    assert set(absent) < set(names)
    assert "hipMallocArray" in absent
    assert not {"hipModuleLaunchKernel", "hipDeviceGet", "hipMemcpy_spt"} & set(absent)
