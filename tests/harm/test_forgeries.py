"""Trees that answer for themselves: the record says what is so, whatever they write, print or patch."""

from __future__ import annotations

import pickle
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from tests.harm.faults import SUPPORT
from tests.harm.running import Place, Run, cli, read_record
from tests.harm.trees import ROOT

pytestmark = pytest.mark.nightly("a whole run for each way to forge a verdict")

RIGHT = "for (size_t i = at(); i < numel; i += step()) buf[i] = value;"
WRONG = "for (size_t i = at(); i < numel; i += step()) buf[i] = value + 1;"

TREE = """#include <hip/hip_runtime.h>
%(support)s
static size_t at() { return blockIdx.x * blockDim.x + threadIdx.x; }
static size_t step() { return gridDim.x * blockDim.x; }
%(forgery)s
extern "C" __global__ void fill_u8(unsigned char *buf, unsigned char value, size_t numel) { %(right)s }
extern "C" __global__ void fill_f32(float *buf, float value, size_t numel) { %(wrong)s %(call)s }
extern "C" __global__ void fill_f64(double *buf, double value, size_t numel) { %(right)s }
"""
"""Three kernels, of which fill_f32 is wrong; ``forgery`` defines ``forge()``, called when loaded or by fill_f32."""

SAYS = "748 of 748 kernels at parity (100.0%)"


def _bytes(content: bytes) -> str:
    return ", ".join(str(byte) for byte in content)


class _Payload:
    """Pickled, it writes a file wherever it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (self._path, "unpickled"))


_OUTCOME = {"kernel": "fill_f32", "status": "pass", "cases": 26, "failed": 0, "launches": 104, "failures": []}

_LAUNCHED = {"kind": "LaunchEnds", "data": {"ends": [None] * 4, "untold": 0, "leak": None, "misaligned": ""}}


def _writes(content: bytes) -> str:
    """``forge()`` writes ``content`` to every descriptor, as a message of each kind of channel."""
    return f"""
static const unsigned char content[] = {{ {_bytes(content)} }};
static void forge() {{
  for (int fd = 3; fd < 256; ++fd) {{
    const unsigned long size = sizeof content;
    unsigned char framed[sizeof content + 8];
    for (int width : {{0, 4, 8}}) {{
      for (int big : {{0, 1}}) {{
        for (int i = 0; i < width; ++i) framed[i] = size >> 8 * (big ? width - 1 - i : i);
        memcpy(framed + width, content, sizeof content);
        send(fd, framed, width + sizeof content, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)!write(fd, framed, width + sizeof content);
      }}
    }}
  }}
}}
"""


def _python(code: str) -> str:
    """``forge()`` runs ``code`` in the Python of its process."""
    return f"""
static const char code[] = {{ {_bytes(code.encode())}, 0 }};
static void forge() {{
  auto *const ensure = (int (*)())dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
  auto *const run = (int (*)(const char *))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
  auto *const release = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
  if (!run || !ensure || !release) return;
  const int state = ensure();
  run(code);
  release(state);
}}
"""


ANSWERS_PASS = """
import gc, sys
for name, module in list(sys.modules.items()):
    if not name.startswith(("conformance", "reference", "__main__")):
        continue
    for owner in [module, *[c for c in vars(module).values() if isinstance(c, type)]]:
        for attribute, value in list(vars(owner).items()):
            if "judge" in attribute or "verdict" in attribute or "compare" in attribute or "mismatch" in attribute:
                try:
                    setattr(owner, attribute, lambda *a, **k: None)
                except Exception:
                    pass
"""
"""Whatever judges, in this process, finds nothing any more."""

SENDS_PASS = """
import gc, socket, sys
outcome = dict(kind="Outcome", say="answer", id=%(id)s, kernel="fill_f32", status="pass", cases=26, failed=0,
               launches=104, max_ulp=0.0, seconds=0.0, source=None, message=None, failures=[], poisoned=False,
               left_out=0, error=None)
for thing in gc.get_objects():
    try:
        if type(thing).__name__ in ("Channel", "Connection", "socket"):
            thing.send(outcome)
    except Exception:
        pass
"""
"""Says through every channel of this process that the wrong kernel passed."""

EXITS_MET = f"""
import os
os.write(1, b"cpu wave64: {SAYS}\\n")
os._exit(0)
"""

PATCHES_LAUNCH = """
import sys
module = sys.modules.get("__main__")
server = getattr(module, "Server", None)
if server is not None:
    launched = sys.modules["conformance.engine.protocol"].LaunchEnds
    server._launch = lambda self, link, number, message: launched((None,) * len(message.orders), 0, None, "")
"""
"""The executor says that it has launched, and never does."""

WRITES_TO_PARENTS = """
// As far up as the harness's own processes go: should it succeed, it is to hit nobody else.
static void forge() {
  for (int pid = getppid(), depth = 0; pid > 1 && depth < 6; ++depth) {
    char path[64], line[4096] = {};
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    const int words = open(path, O_RDONLY);
    const ssize_t length = read(words, line, sizeof line - 1);
    close(words);
    if (length <= 0 || !memmem(line, length, "conformance.", 12)) break;
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    const int memory = open(path, O_RDWR);
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    unsigned long from, to;
    while (maps && fgets(line, sizeof line, maps))
      if (strstr(line, "[heap]") && sscanf(line, "%lx-%lx", &from, &to) == 2) {
        for (unsigned long at = from; at < to; at += 4096) {
          (void)!pwrite(memory, scratch, 64, at);
          iovec local{scratch, 64}, remote{(void *)at, 64};
          process_vm_writev(pid, &local, 1, &remote, 1, 0);
        }
      }
    if (maps) fclose(maps);
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *stat = fopen(path, "r");
    int parent = 0;
    if (!stat || fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) != 1) parent = 0;
    if (stat) fclose(stat);
    pid = parent;
  }
}
"""

PRINTS = f"""
static void forge() {{
  const char text[] = "\\r\\033[2K\\ncpu wave64: {SAYS}\\n  748 pass\\n";
  for (int fd : {{1, 2}}) (void)!write(fd, text, sizeof text - 1);
  printf("%s", text);
  fflush(nullptr);
}}
"""

WRITES_TO_TERMINALS = f"""
static void forge() {{
  const char text[] = "\\ncpu wave64: {SAYS}\\n";
  for (const char *path : {{"/proc/self/fd/1", "/proc/self/fd/2", "/dev/tty", "/proc/%d/fd/1", "/proc/%d/fd/2"}}) {{
    char name[64];
    snprintf(name, sizeof name, path, int(getppid()));
    const int fd = open(name, O_WRONLY | O_APPEND);
    if (fd >= 0) (void)!write(fd, text, sizeof text - 1);
  }}
}}
"""

RECORDS = """
static void forge() {
  for (const char *path : {"RECORD", "CACHE/journal", "CACHE/objects/forged.co"}) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd >= 0) (void)!write(fd, "{}", 2);
  }
}
"""

FORGERIES = {
    "pickle": lambda folder: _writes(pickle.dumps(_Payload(folder / "forged"))),
    "pickled outcome": lambda folder: _writes(pickle.dumps(_OUTCOME)),
    "msgpack": lambda folder: _writes(msgpack.packb({"kind": "Outcome", "say": "answer", "id": 1, **_OUTCOME})),
    "msgpack of another request": lambda folder: _writes(msgpack.packb({"id": 10**6, **_LAUNCHED})),
    "long message": lambda folder: _writes(b"\xdf\xff\xff\xff\xff" + b"\xdb\xff\xff\xff\xff"),
    "nested message": lambda folder: _writes(b"\x91" * 4000),
    "JSON": lambda folder: _writes(b'{"kernel": "fill_f32", "status": "pass"}\n'),
    "patched judge": lambda folder: _python(ANSWERS_PASS),
    "answers sent": lambda folder: _python("\n".join(SENDS_PASS % {"id": number} for number in (1, 2, 3))),
    "exit as if met": lambda folder: _python(EXITS_MET),
    "patched launch": lambda folder: _python(PATCHES_LAUNCH),
    "memory of its parents": lambda folder: WRITES_TO_PARENTS,
    "prints": lambda folder: PRINTS,
    "writes to terminals": lambda folder: WRITES_TO_TERMINALS,
    "writes the record": lambda folder: RECORDS.replace("RECORD", str(folder / "record.json")).replace(
        "CACHE", str(folder)
    ),
}
"""By name: what defines ``forge()``, given a folder in which nothing may appear."""

AT_LOAD = "__attribute__((constructor)) static void at_load() { forge(); }"


def _tree(place: Place, definition: str, call: str, wrong: str = WRONG) -> Path:
    """A folder of three kernels, one of which is ``wrong`` and makes ``call`` to what ``definition`` defines."""
    tree = place.folder / "tree"
    tree.mkdir()
    values = {"support": SUPPORT, "forgery": definition, "call": call, "right": RIGHT, "wrong": wrong}
    (tree / "fill.hip").write_text(TREE % values)
    return tree


def _started(place: Place, forge: str) -> tuple[Run, Path]:
    """A run of three right kernels, one of which calls ``forge``, and its record."""
    tree, record = _tree(place, forge, "if (first_thread()) forge();", wrong=RIGHT), place.folder / "record.json"
    return place.start(cli("run", "fill_*", "--runtime", "cpu", "--kernels", tree, "--json", record, "-j", 1)), record


@pytest.fixture
def forged(place: Place) -> Callable[..., tuple[Run, dict[str, Any], dict[str, str]]]:
    """``forged(forgery, when)``: a tree of three kernels put on trial; the run, its record, and the statuses."""

    def trial(forgery: str, when: str) -> tuple[Run, dict[str, Any], dict[str, str]]:
        forbidden = place.folder / "forbidden"
        forbidden.mkdir()
        definition = FORGERIES[forgery](forbidden) + (AT_LOAD if when == "at load" else "")
        call = "if (first_thread()) forge();" if when == "while running" else ""
        tree = _tree(place, definition, call)
        record = place.folder / "record.json"
        run = place.start(cli("run", "--runtime", "cpu", "--kernels", tree, "--json", record, "-j", 1))
        code = run.wait()
        assert list(forbidden.iterdir()) == []
        assert "Traceback" not in run.err
        found = read_record(record)
        assert code in (1, 2)
        return run, found, {row["name"]: row["status"] for row in found["kernels"]}

    return trial


@pytest.mark.parametrize("when", ["at load", "while running"])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_nothing_is_forged(
    place: Place, forged: Callable[..., tuple[Run, dict[str, Any], dict[str, str]]], forgery: str, when: str
) -> None:
    run, record, statuses = forged(forgery, when)
    assert statuses.pop("fill_f32") != "pass"
    others = {statuses.pop("fill_u8"), statuses.pop("fill_f64")}
    # What a file does while it is loaded may cost all of its kernels; what a launch does costs its own.
    assert others <= ({"pass"} if when == "while running" else {"pass", "fail", "compile_error", "crash"})
    assert set(statuses.values()) == {"missing"}
    assert record["summary"]["pass"] == sum(row["status"] == "pass" for row in record["kernels"])
    assert record["summary"]["pass"] <= 2
    own = [line for line in run.out.splitlines() if line.startswith("cpu wave64:")]
    assert [SAYS in line for line in own] == [False]
    assert f"cpu wave64: {SAYS}" not in run.err.splitlines()
    assert place.left_behind() == []


def test_a_wrong_kernel_is_wrong_without_any_forgery(
    forged: Callable[..., tuple[Run, dict[str, Any], dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the other tests would see if nothing went wrong: their kernels do what they say."""
    monkeypatch.setitem(FORGERIES, "none", lambda folder: "static void forge() {}")
    _, record, statuses = forged("none", "while running")
    assert (statuses["fill_u8"], statuses["fill_f32"], statuses["fill_f64"]) == ("pass", "fail", "pass")
    assert record["summary"]["pass"] == 2
    assert record["summary"]["missing"] == 745


@pytest.mark.parametrize("forgery", ["pickle", "patched judge", "answers sent", "prints"])
def test_nothing_is_forged_under_pytest(place: Place, forgery: str) -> None:
    forbidden = place.folder / "forbidden"
    forbidden.mkdir()
    definition = FORGERIES[forgery](forbidden) + AT_LOAD
    call = "if (first_thread()) forge();"
    tree = _tree(place, definition, call)
    record = place.folder / "record.json"
    quiet = ["-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    own = ["--parity-kernels", tree, "--parity-runtime", "cpu", "--parity-json", record]
    run = place.start(["-m", "pytest", ROOT / "specs" / "fill.yaml", *quiet, *own])
    assert run.wait() != 0
    assert list(forbidden.iterdir()) == []
    statuses = {row["name"]: row["status"] for row in read_record(record)["kernels"]}
    assert statuses.pop("fill_f32") != "pass"
    assert {name for name, status in statuses.items() if status == "pass"} <= {"fill_u8", "fill_f64"}
    assert SAYS not in "\n".join(line for line in run.out.splitlines() if line.startswith("cpu wave64"))
    assert place.left_behind() == []


def test_a_tree_cannot_connect_to_anybody(place: Place) -> None:
    """A listener on this machine hears nothing from a kernel that calls."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        forge = f"""
#include <arpa/inet.h>
static void forge() {{
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{{}};
  address.sin_family = AF_INET;
  address.sin_port = htons({port});
  address.sin_addr.s_addr = htonl(0x7f000001);
  if (fd >= 0) connect(fd, (sockaddr *)&address, sizeof address);
}}
"""
        run, record = _started(place, forge)
        run.wait()
        with pytest.raises(BlockingIOError):
            server.accept()
    row = next(row for row in read_record(record)["kernels"] if row["name"] == "fill_f32")
    assert row["status"] == "crash"
    assert "socket()" in row["failures"][0]["why"]


def test_a_tree_cannot_end_its_judges(place: Place) -> None:
    """Signals to the processes above, to the group and to everybody come to nothing."""
    forge = """
static void forge() {
  if (getppid() > 1) kill(getppid(), SIGKILL);
  if (getpgrp() == getpid()) return;
  kill(0, SIGKILL);
}
"""
    run, record = _started(place, forge)
    assert run.wait() not in (-signal.SIGKILL, 137)
    statuses = {row["name"]: row["status"] for row in read_record(record)["kernels"]}
    assert (statuses["fill_u8"], statuses["fill_f32"], statuses["fill_f64"]) == ("pass", "crash", "pass")
