"""What comes from outside, damaged: an error in a sentence or an answer, in time, and no other file."""

from __future__ import annotations

import re
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType

import numpy as np
from hypothesis import strategies as st

from candle_wiring.judge import wire
from conformance.cases import cases_for, launch_for
from conformance.cases.case import Case
from conformance.cli.commands import ports
from conformance.engine.journal import Journal
from conformance.errors import UsageError
from conformance.outcome import Failure, Outcome
from conformance.port.code_objects import code_for, embedded, read_code_objects
from conformance.port.config import OPTIONS_FILE, read_config
from conformance.port.declared.declared import declared_in
from conformance.port.definitions.preprocess import tokenize
from conformance.port.definitions.scan import find, scan_file
from conformance.port.line_tables import read_line_table
from conformance.port.options import options_for
from conformance.port.sources import SourceError
from conformance.record import Record, read_record, record_text, summarise
from conformance.record.bench import bench_text, read_bench
from conformance.replay.archive import write_archive
from conformance.replay.traces import TraceError, Traces
from conformance.report.html import render_html
from conformance.report.markdown import render_markdown
from conformance.report.short_report import render_summary
from conformance.report.terminal import render_terminal
from conformance.session.selection import select
from conformance.settings import Settings
from conformance.spec import SelectionError, SpecError
from conformance.spec.load import SPEC_FOLDER, Specs, load_specs
from conformance.toolchains.targets import AmdError
from conformance.upstream.checkout import CheckoutError
from conformance.upstream.rust import RustError
from conformance.writing import FileError
from tests.bench import made as benches
from tests.engine import test_journal as journals
from tests.fuzz.hunt import Find, Tally, Test
from tests.isa_runtime.code import HEAD, TAIL, code_object
from tests.port import elf
from tests.replay.test_reading_traces import FILE, case
from tests.runs import run_info
from tests.sites.__main__ import read_sites
from tests.upstream import rust

SECONDS = 10
"""Within which everything is read."""

NUMBERS = (b"0", b"-1", b"7", b"9" * 30, b"1e400", b"nan", b"0x1F")
SIGNS = (
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"<",
    b">",
    b'"',
    b"'",
    b",",
    b";",
    b":",
    b"=",
    b"\n",
    b" ",
    b"*",
    b"\\",
    b"#",
)


@dataclass(frozen=True)
class Parser:
    """``read`` makes something of a file's content, in a folder where it may lie; ``errors`` are the project's own."""

    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes, Path], object]
    errors: tuple[type[Exception], ...] = ()
    pieces: tuple[bytes, ...] = (*NUMBERS, *SIGNS)


class _TooLong(BaseException):
    """Nobody catches it on the way."""


def _stop(_: int, __: FrameType | None) -> None:
    raise _TooLong


def mishap(parser: Parser, content: bytes) -> str | None:
    """What should not happen, and does, when ``parser`` gets ``content``."""
    before = signal.signal(signal.SIGALRM, _stop)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as parent:
        folder = Path(parent) / "in"
        folder.mkdir()
        try:
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            parser.read(content, folder)
        except parser.errors as error:
            if "\n" in str(error) or not str(error):
                return f"{type(error).__name__} is not one line: {str(error)!r}"
        except _TooLong:
            return f"it takes over {SECONDS} s"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        others = [path.name for path in Path(parent).iterdir() if path != folder]
        return f"it writes {others}" if others else None


@st.composite
def damaged(draw: st.DrawFn, parser: Parser) -> bytes:
    """One of the seeds with some places cut out, doubled or written over."""
    content = bytearray(draw(st.sampled_from(parser.seeds())))
    put = st.sampled_from(parser.pieces) | st.binary(max_size=4) | st.integers(0, 400)
    edits = st.tuples(st.integers(0, len(content)), st.integers(0, 12) | st.integers(0, len(content)), put)
    for at, gone, piece in draw(st.lists(edits, max_size=6)):
        content[at : at + gone] = piece if isinstance(piece, bytes) else content[at : at + piece] * 2
    return bytes(content)


def of_parser(name: str, parser: Parser, tally: Tally, until: float = float("inf")) -> Test:
    """The test that ``parser`` takes what is damaged; from the time ``until`` on it tries nothing new."""
    known: dict[bytes, tuple[bytes, str]] = {}

    def test(data: st.DataObject) -> None:
        content = data.draw(damaged(parser))
        if not known and time.monotonic() < until:  # what is found is shrunk here: hypothesis does not cut a seed
            tally.tried[name] += 1
            why = mishap(parser, content)
            if why is not None:
                least = shrunk(parser, content)
                known[content] = least, mishap(parser, least) or why
        if content in known:
            least, why = known[content]
            raise Find(name, repr(least), why)

    return test


def shrunk(parser: Parser, content: bytes) -> bytes:
    """``content`` without what its mishap does not need, within a minute."""
    until = time.monotonic() + 60
    size = len(content)
    while size and time.monotonic() < until:
        at, before = 0, len(content)
        while at < len(content) and time.monotonic() < until:
            less = content[:at] + content[at + size :]
            content, at = (less, at) if mishap(parser, less) is not None else (content, at + size)
        size = size // 2 if len(content) == before else min(size, len(content))
    return content


# ---- what is read, and how


@cache
def _specs() -> Specs:
    return load_specs()


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


SPEC = rust.SPEC.encode()


def _spec_texts() -> list[bytes]:
    small = [path for path in sorted(SPEC_FOLDER.glob("*.yaml")) if path.stat().st_size < 3000]
    return [SPEC, *(re.sub(rb"(?m)^module: .*", b"module: toy", path.read_bytes()) for path in small)]


TOML = b"""\
kernels = "src"
dialect = "hip"
defines = ["A=1", "B"]
include_dirs = ["include"]
[names]
"u*_f32" = "my_u*_f32"
[[known_failures]]
kernels = "uexp_*"
reason = "It is known."
[[launch]]
kernels = "uneg_*"
grid = ["(numel + 255) // 256", "1", "1"]
block = ["256", "1", "1"]
[gate]
fail_under = 80
"""


def _options(content: bytes, folder: Path) -> object:
    (folder / "src").mkdir()
    (folder / "src" / "unary.hip").write_text("")
    (folder / "include").mkdir()
    config = read_config(_file(folder, OPTIONS_FILE, content))
    options_for(Settings(), config)
    return declared_in(config, _specs().kernels, _specs().launchers)


PORTS = b"""\
[[port]]
name = "one"
repository = "https://example.org/one"
commit = "0123abc"
kernels = "one/src"
runs = ["--runtime cpu --wave 64"]
defines = ["A"]
"""


def _archives() -> list[bytes]:
    arrays = {"aa": np.zeros(3, np.uint32), "bb": np.array([1, 2, 3, 0xA5A5A5A5], np.uint32)}
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        write_archive(Path(folder) / FILE, [case()], arrays, preset=1)
        return [(Path(folder) / FILE).read_bytes()]


def _records() -> list[bytes]:
    from tests.record.test_record import one_of_each

    kernels = one_of_each()
    failure = Failure("k_fail(shape=[3])", "must be equal", 2, "1", "2", 3.0, "run k_fail")
    kernels[1] = kernels[1].model_copy(update={"failures": (failure,)})
    return [record_text(Record(run=run_info(), kernels=kernels, summary=summarise(kernels))).encode()]


def _record(content: bytes, folder: Path) -> None:
    record = read_record(_file(folder, "r.json", content))
    for render in (render_terminal, render_markdown, render_summary, render_html):
        render(record, _specs())


def _journals() -> list[bytes]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return [journals.kept(Path(folder), journals.PASSED, journals.FAILED).path.read_bytes()]


def _resumed(content: bytes, folder: Path) -> None:
    journal = Journal(folder, journals.WHAT, journals.BY)
    journal.path.write_bytes(content)
    why = journal.resume()
    assert why is not None or all(isinstance(one, Outcome) for one in journal.done.values())


@cache
def _ids() -> list[bytes]:
    """A case of each field of each launch family."""
    kernels = {kernel.launch: kernel for kernel in (*_specs().kernels.values(), *_specs().launchers.values())}
    found = {}
    for kernel in kernels.values():
        for one in cases_for(kernel):
            for name, _ in one.fields:
                found.setdefault((kernel.launch, name), one.id.encode())
    return list(dict.fromkeys(found.values()))


def _launched(content: bytes, _: Path) -> None:
    one = Case.parse(content.decode(errors="replace"))
    kernel = _specs().kernels.get(one.kernel) or _specs().launchers.get(one.kernel)
    if kernel is not None:
        launch_for(kernel, one)


def _selected(content: bytes, _: Path) -> None:
    select(_specs(), [content.decode(errors="replace")], None)


def _objects() -> list[bytes]:
    by_hand = elf.code_object(elf.metadata("gfx942", [elf.kernel_row("k", [(0, 8, "global_buffer")])]))
    return [code_object([*HEAD, *TAIL]), by_hand, elf.bundle({"hipv4-amdgcn-amd-amdhsa--gfx942": by_hand})]


def _object(content: bytes, folder: Path) -> None:
    read_line_table(content)
    for read in (lambda: embedded(content, "gfx942", "x"), lambda: code_for(content, "gfx942", "x")):
        try:
            read()
        except AmdError:
            continue
    read_code_objects(_file(folder, "k.hsaco", content))


RUST = b"""\
fn go<T: WithDType>(st: &Storage, n: usize) -> Result<()> {
    let name = match &st.slice { S::U8(_) => "toy_u8", S::F32(_) if n > 3 => "toy_f32", _ => "toy_f64" };
    let func = st.dev.get_or_load_func(name, &M)?;
    let other = st.dev.get_or_load_func(&kernel_name::<T>("toy"), &M)?;
    for op in ["a", "b"] { st.dev.get_or_load_func(&format!("toy_{op}"), &M)?; }
    Ok(())
}
macro_rules! each { ($($t:ty),*) => { $( pub fn f() { go::<$t>(&S, 1); } )* }; }
each!(u8, f32);
"""


def _wired(content: bytes, folder: Path) -> None:
    tree = rust.make_tree(folder, "")
    path = tree / "candle-core" / "src" / "cuda_backend" / "mod.rs"
    path.write_bytes(rust.BACKEND.encode() + content)
    wire(tree, "cuda_backend", load_specs(rust.make_specs(folder)))


HIP = b"""\
#include <stdint.h>
#define TWICE(T, NAME) \\
  extern "C" __global__ void twice_##NAME(size_t n, const T* __restrict__ in, T* out) { out[0] = in[0]; }
namespace a { template <typename T, int N = (1 > 0)> struct S { T x[N]; }; using F = float; }
TWICE(float, f32)
typedef unsigned int u32;
extern "C" {
__launch_bounds__(256, 2) __global__ void k(u32 n, a::S<float, 2> s, const void *p) { if (n) { asm("// }"); } }
void launch_k(const void* x, int64_t n, void* stream) { /* { */ }
}
static const char* R = R"x({)x", c = '}';
"""


def _defined(content: bytes, folder: Path) -> None:
    path = _file(folder, "k.hip", content)
    with suppress(SourceError):
        find(tokenize(content.decode(errors="replace"), str(path)), path)
    scan_file(path)


def _sites(content: bytes, folder: Path) -> None:
    _file(folder, "k.sites", content)
    read_sites(folder, "k")


PARSERS: dict[str, Parser] = {
    "specs": Parser(
        _spec_texts,
        lambda content, folder: load_specs(_file(folder, "toy.yaml", content).parent),
        (SpecError,),
        (*NUMBERS, *SIGNS, b"&x ", b"*x", b"- ", b"? ", b"!!int ", b"~", b"<<: "),
    ),
    "options": Parser(lambda: [TOML], _options, (SourceError,)),
    "ports": Parser(
        lambda: [PORTS], lambda content, folder: ports._read(_file(folder, "p.toml", content)), (UsageError,)
    ),
    "traces": Parser(
        _archives,
        lambda content, folder: list(Traces(_file(folder, FILE, content).parent).of(_specs().kernels["uexp_f32"])),
        (TraceError,),
    ),
    "records": Parser(_records, _record, (FileError,)),
    "benches": Parser(
        lambda: [bench_text(benches.record(*benches.FOUR)).encode()],
        lambda content, folder: read_bench(_file(folder, "b.json", content)),
        (FileError,),
    ),
    "journals": Parser(_journals, _resumed),
    "case ids": Parser(_ids, _launched, (ValueError, MemoryError)),
    "patterns": Parser(
        lambda: [*_ids(), b"uexp_*(layout=transposed;*)", b"u*_f32", b"[ub]neg_f32"],
        _selected,
        (UsageError, SelectionError),
    ),
    "code objects": Parser(_objects, _object, (AmdError,)),
    "rust": Parser(lambda: [RUST], _wired, (RustError, CheckoutError)),
    "hip": Parser(lambda: [HIP], _defined, (SourceError,)),
    "sites": Parser(lambda: [bytes(range(40))], _sites),
}
