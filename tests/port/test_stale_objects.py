"""No edit is missed, however a source comes to read a file: a row for each way, with one edit between two compilations.

Each row has a kernel that stores ``VALUE``. Its files are written, it is compiled twice, of which the second finds the
object again, and edited, after which its code is another. The digest of the tree, which records and ``--resume`` know
it by, changes with each edit, too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from conformance.port.amd_cache import compile_for
from conformance.port.compiling import cache
from conformance.port.compiling.cache import made
from conformance.port.compiling.keys import TreeFolders, settle
from conformance.port.compiling.reads import Reads
from conformance.port.compiling.target import CompileTarget
from conformance.port.definitions.mentioned import mentioned
from conformance.port.digest import tree_digest
from conformance.port.options import BuildOptions
from conformance.port.sources import KernelSource
from conformance.processes import Supervisor
from conformance.runtimes import runtime_kind
from conformance.runtimes.cpu.build import build
from conformance.toolchains.amd import find_toolchain, lacking
from conformance.toolchains.compile_error import CompileError
from conformance.toolchains.host import NoCompiler
from conformance.toolchains.targets import target

KERNEL = '\nextern "C" __global__ void k(int *p) { *p = VALUE; }\n'
ONE, TWO = "#define VALUE 1\n", "#define VALUE 2\n"
TEXT = "#define TEXT_(x) #x\n#define TEXT(x) TEXT_(x)\n#define JOINED_(a, b) a##b\n#define JOINED(a, b) JOINED_(a, b)\n"
IF_THERE = "#if __has_include({})\n#include {}\n#else\n#define VALUE 1\n#endif\n"
ASSEMBLY = """
extern "C" __global__ void k(int *p) {{
  asm volatile(R"(.pushsection .rodata
{}
.popsection)");
  *p = 1;
}}
"""

Edit = Callable[[Path], None]


def write(name: str, text: str, home: Path) -> None:
    """Write a file, as an editor does: a new one in place of the old."""
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="latin-1", newline="")
    new.replace(path)


def remove(name: str, home: Path) -> None:
    (home / name).unlink()


def link(name: str, to: str, home: Path) -> None:
    """Let ``name`` be a link to ``to``, whatever it is now."""
    (home / name).unlink(missing_ok=True)
    (home / name).symlink_to(to)


@dataclass(frozen=True)
class Row:
    """A source in ``kernels/``, or what stands before the kernel in it, the ``files`` around it, and an ``edit``.

    Without one, the ``header`` is written with one value, then with another. ``{home}`` in a text is the folder that
    all of it lies in. ``kept`` says that an object of it can be found again, and ``needs`` names what not all compilers
    know.
    """

    name: str
    before: str
    header: str = "kernels/a.h"
    files: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    edit: Edit | None = None
    source: str = "kernels/k.hip"
    kernel: str = KERNEL
    one: str = ONE
    two: str = TWO
    folders: Sequence[str] = ()
    defines: Sequence[str] = ()
    forced: Sequence[str] = ()
    std: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    kept: bool = True
    needs: str = ""

    def lay_out(self, home: Path) -> None:
        """Write it to ``home``, as it is before the edit."""
        (home / "outside").mkdir(parents=True)
        (home / "kernels").mkdir()
        for name, text in self.files.items():
            write(name, text, home)
        if self.edit is None:
            write(self.header, self.one, home)
        for name, to in self.links.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            link(name, to, home)
        write(self.source, self.before.replace("{home}", str(home)) + self.kernel, home)

    def change(self, home: Path) -> None:
        if self.edit is None:
            write(self.header, self.two, home)
        else:
            self.edit(home)

    def options(self, home: Path) -> BuildOptions:
        return BuildOptions(
            include_dirs=tuple(home / folder for folder in self.folders),
            defines=tuple(self.defines),
            forced=tuple(home / header for header in self.forced),
            std=self.std,
        )

    def of(self, home: Path) -> KernelSource:
        return KernelSource(home / self.source, home / "kernels")


A = '#include "a.h"\n'
BOM = "\u00ef\u00bb\u00bf"  # as Latin-1
ROWS = (
    Row("quotes", A),
    Row("angle brackets", "#include <a.h>\n"),
    Row("a comment behind", '#include "a.h" // of ours\n'),
    Row("spaces and a comment between", '  #  include /* ours */ "a.h"\n'),
    Row("a byte order mark before the first line", BOM + A),
    Row("a byte order mark in a header", '#include "b.h"\n', files={"kernels/b.h": BOM + A}),
    Row("lines that end in CR and LF", A.replace("\n", "\r\n")),
    Row("a bare CR in the source", f"// first\r{A}"),
    Row("a form feed", f"\f{A}"),
    Row("a vertical tab", f"\v{A}"),
    Row("a comment before", f"/* c */ {A}"),
    Row("a comment of two lines before", f"/*\n*/ {A}"),
    Row("a comment inside", '#/* c */include "a.h"\n'),
    Row("a digraph", '%:include "a.h"\n'),
    Row("a trigraph", '??=include "a.h"\n', std="c++14", needs="trigraphs"),
    Row("a line continued inside the word", '#inc\\\nlude "a.h"\n'),
    Row("a line continued before the word", '#\\\ninclude "a.h"\n'),
    Row("a line continued inside the name", '#include "a\\\n.h"\n'),
    Row("a line continued after blanks", '#include \\  \n "a.h"\n'),
    Row("a raw string with the begin of a comment before", f'const char *raw = R"(/*)";\n{A}'),
    Row("import", '#import "a.h"\n'),
    Row("text that is not UTF-8 before", f"// \u00e9\n{A}"),
    Row("a name with a blank", '#include "a b.h"\n', "kernels/a b.h"),
    Row("a name with a hash and a dollar", '#include "a#$b.h"\n', "kernels/a#$b.h"),
    Row("the suffix .txt", '#include "a.txt"\n', "kernels/a.txt"),
    Row("no suffix", '#include "a"\n', "kernels/a"),
    Row("another source", '#include "other.hip"\n', "kernels/other.hip"),
    Row("outside of the root", '#include "../outside/a.h"\n', "outside/a.h"),
    Row("an absolute name", '#include "{home}/outside/a.h"\n', "outside/a.h"),
    Row("a name by a macro", '#define NAME "a.h"\n#include NAME\n'),
    Row("a name by a macro, in angle brackets", "#define NAME <a.h>\n#include NAME\n"),
    Row("a name by a macro, .txt", '#define NAME "a.txt"\n#include NAME\n', "kernels/a.txt"),
    Row("a name by a macro, no suffix", '#define NAME "a"\n#include NAME\n', "kernels/a"),
    Row("a name by a macro, outside", '#define NAME "../outside/a"\n#include NAME\n', "outside/a"),
    Row("a name by a macro, absolute", '#define NAME "{home}/outside/a"\n#include NAME\n', "outside/a"),
    Row("a name that is made a string", f"{TEXT}#include TEXT(a.txt)\n", "kernels/a.txt"),
    Row("a name in pieces", f"{TEXT}#include TEXT(JOINED(to, ld.txt))\n", "kernels/told.txt"),
    Row("a name by an option", "#include NAME\n", "kernels/a.txt", defines=('NAME="a.txt"',)),
    Row(
        "a link by a macro",
        '#define NAME "to"\n#include NAME\n',
        "outside/a.txt",
        links={"kernels/to": "../outside/a.txt"},
    ),
    Row("a link", '#include "to.h"\n', "outside/a.h", links={"kernels/to.h": "../outside/a.h"}),
    Row("a folder that is a link", '#include "to/a.h"\n', "outside/a.h", links={"kernels/to": "../outside"}),
    Row("a header in a header", '#include "b.h"\n', files={"kernels/b.h": A}),
    Row("relative to its header", '#include "in/b.h"\n', "kernels/in/a.h", files={"kernels/in/b.h": A}),
    Row(
        "a header in a header without a suffix",
        '#include "b"\n',
        "kernels/in/a",
        files={"kernels/b": '#include "in/a"\n'},
    ),
    Row("an include folder", "#include <a.h>\n", "outside/a.h", folders=["outside"]),
    Row("an include folder of the tree", "#include <a.h>\n", "kernels/in/a.h", folders=["kernels/in"]),
    Row("the root, of a source below", A, source="kernels/below/k.hip"),
    Row(
        "the next one of a name",
        '#include "b.h"\n',
        "outside/b.h",
        files={"kernels/b.h": "#include_next <b.h>\n"},
        folders=["outside"],
    ),
    Row("a forced header", "", "outside/a.h", forced=["outside/a.h"]),
    Row("a header of a forced one", "", "outside/a", files={"outside/b.h": '#include "a"\n'}, forced=["outside/b.h"]),
    Row("CPATH", "#include <a.h>\n", "outside/a.h", environment={"CPATH": "{home}/outside"}),
    Row("a relative CPATH", "#include <a.h>\n", "outside/a.h", environment={"CPATH": "outside"}),
    Row("CPLUS_INCLUDE_PATH", "#include <a.h>\n", "outside/a.h", environment={"CPLUS_INCLUDE_PATH": "{home}/outside"}),
    Row("HIPCPU_CXXFLAGS", "#include <a.h>\n", "outside/a.h", environment={"HIPCPU_CXXFLAGS": "-I{home}/outside"}),
    Row("what __has_include found", IF_THERE.format('"a.h"', '"a.h"')),
    Row(
        "what __has_include asks for appears",
        IF_THERE.format('"a.h"', '"a.h"'),
        edit=partial(write, "kernels/a.h", TWO),
    ),
    Row(
        "what __has_include asks for appears in a folder",
        IF_THERE.format("<in/a>", "<in/a>"),
        edit=partial(write, "outside/in/a", TWO),
        folders=["outside"],
    ),
    Row(
        "what __has_include found, and nobody reads, disappears",
        '#if __has_include("flag.h")\n#define VALUE 1\n#else\n#define VALUE 2\n#endif\n',
        files={"kernels/flag.h": ""},
        edit=partial(remove, "kernels/flag.h"),
    ),
    Row(
        "__has_include of a macro",
        f'#define NAME "a.h"\n{IF_THERE.format("NAME", "NAME")}',
        edit=partial(write, "kernels/a.h", TWO),
        kept=False,
    ),
    Row(
        "a header earlier in the search",
        "#include <a.h>\n",
        files={"outside/a.h": ONE, "first/b.h": ""},
        edit=partial(write, "first/a.h", TWO),
        folders=["first", "outside"],
    ),
    Row(
        "a header next to the source, in place of a folder's",
        A,
        files={"outside/a.h": ONE},
        edit=partial(write, "kernels/a.h", TWO),
        folders=["outside"],
    ),
    Row(
        "a header in place of the compiler's",
        "#include <cfloat>\n#ifndef VALUE\n#define VALUE 1\n#endif\n",
        edit=partial(write, "kernels/cfloat", TWO),
    ),
    Row(
        "a link to another file",
        '#include "to.h"\n',
        files={"kernels/one.h": ONE, "kernels/two.h": TWO},
        links={"kernels/to.h": "one.h"},
        edit=partial(link, "kernels/to.h", "two.h"),
    ),
    Row(
        "a link to another folder",
        '#include "to/a.h"\n',
        files={"one/a.h": ONE, "two/a.h": TWO},
        links={"kernels/to": "../one"},
        edit=partial(link, "kernels/to", "../two"),
    ),
    Row(
        "the macro of a header's guard",
        A,
        one=f"#ifndef A\n#define A\n{ONE}#endif\n",
        two=f"#ifndef A\n#define A\n{TWO}#endif\n",
    ),
    Row(
        ".incbin",
        "",
        "kernels/a.bin",
        kernel=ASSEMBLY.format('.incbin "kernels/a.bin"'),
        one="1.......",
        two="2.......",
        kept=False,
    ),
    Row(
        ".incbin in pieces",
        "",
        "kernels/a.bin",
        kernel=ASSEMBLY.format('.inc)" R"(bin "kernels/a.bin"'),
        one="1.......",
        two="2.......",
        kept=False,
    ),
    Row(
        ".incbin by a macro of the assembler",
        "",
        "kernels/a.bin",
        kernel=ASSEMBLY.format('.macro get a, b\n.\\a\\b "kernels/a.bin"\n.endm\nget inc, bin\n.purgem get'),
        one="1.......",
        two="2.......",
        kept=False,
    ),
    Row(
        ".include in assembly",
        "",
        "kernels/a.s",
        kernel=ASSEMBLY.format('.include "kernels/a.s"'),
        one=".byte 1\n",
        two=".byte 2\n",
        kept=False,
    ),
    Row(
        "#embed",
        "constexpr int values[] = {\n#include <b.h>\n};\n#define VALUE values[0]\n",
        "kernels/a.bin",
        one="1",
        two="2",
        files={"kernels/b.h": '#embed "a.bin"\n'},
        needs="#embed",
    ),
)


@pytest.fixture(scope="module", autouse=True)
def _host() -> None:
    try:
        build()
    except NoCompiler as error:
        pytest.skip(str(error))


class Compiling:
    """Compiles for the host, in a cache of its own; ``count`` is how often a compiler was started for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, supervisor: Supervisor, target: CompileTarget) -> None:
        self.count = 0
        self.after: list[Callable[[], None]] = []
        self._supervisor, self._target = supervisor, target
        compile_in_child = cache.compile_in_child

        def counted(*given: object, reads: Reads, **named: object) -> bytes:
            self.count += 1
            code = compile_in_child(*given, reads=reads, **named)  # type: ignore[arg-type]
            if self.after:
                self.after.pop(0)()
            return code

        monkeypatch.setattr(cache, "compile_in_child", counted)

    def code(self, source: KernelSource, options: BuildOptions, wave: int = 64) -> bytes:
        return made(source, replace(self._target, wave=wave), self._supervisor, options).code


@pytest.fixture
def compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiling]:
    shared = cache.cache_folder() / "runtime"
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/runtime").symlink_to(shared)
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    with Supervisor() as supervisor:
        yield Compiling(
            monkeypatch, supervisor, CompileTarget(runtime_kind("cpu"), 64, "host", "tests of stale objects")
        )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def laid_out(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> Row:
    row: Row = request.param
    row.lay_out(home)
    monkeypatch.chdir(home)
    for name, value in row.environment.items():
        monkeypatch.setenv(name, value.replace("{home}", str(home)))
    return row


every_row = pytest.mark.parametrize("laid_out", ROWS, ids=[row.name for row in ROWS], indirect=True)


@pytest.mark.nightly("compiles a small port")
@every_row
def test_an_edit_is_compiled(laid_out: Row, home: Path, compiling: Compiling) -> None:
    source, options = laid_out.of(home), laid_out.options(home)
    try:
        before = compiling.code(source, options)
    except CompileError as error:
        if not laid_out.needs:
            raise
        pytest.skip(f"this compiler does not know {laid_out.needs}: {error}")
    first = compiling.count
    assert compiling.code(source, options) == before
    assert (compiling.count == first) == laid_out.kept
    laid_out.change(home)
    assert compiling.code(source, options) != before


@every_row
@pytest.mark.slow("compiles a tree before and after an edit")
def test_two_trees_that_differ_never_look_the_same(laid_out: Row, home: Path) -> None:
    before = tree_digest(home / "kernels", laid_out.options(home))
    assert tree_digest(home / "kernels", laid_out.options(home)) == before
    laid_out.change(home)
    assert tree_digest(home / "kernels", laid_out.options(home)) != before


@every_row
@pytest.mark.slow("compiles a tree before and after an edit")
def test_an_edit_is_noticed_where_no_compiler_lists_what_it_reads(laid_out: Row, home: Path) -> None:
    """As AMD's and NVIDIA's hiprtc: then all that is mentioned counts, or nothing is kept."""
    source, options = laid_out.of(home), laid_out.options(home)
    place = TreeFolders.of(source, options)

    def compilation(reads: Reads) -> None:
        reads.listed = False

    _, manifest = settle(place, [source.path, *options.forced], source.text(), compilation, ())
    assert manifest is None or manifest.holds(place)
    laid_out.change(home)
    assert manifest is None or not manifest.holds(place)


WRONG = "#define VALUE wrong\n"


@pytest.fixture
def tree(home: Path) -> KernelSource:
    """A source that reads a header in a way that no scan for ``#include`` follows."""
    row = Row("", f"{TEXT}#include TEXT(a.txt)\n", "kernels/a.txt")
    row.lay_out(home)
    return row.of(home)


NO_OPTIONS = BuildOptions()


@pytest.mark.slow("compiles a small port")
def test_what_is_edited_while_it_is_compiled_is_compiled_again(
    tree: KernelSource, home: Path, compiling: Compiling
) -> None:
    other = home / "other"
    shutil.copytree(home / "kernels", other / "kernels")
    write("kernels/a.txt", TWO, other)
    wanted = compiling.code(KernelSource(other / "kernels/k.hip", other / "kernels"), NO_OPTIONS)
    compiling.count = 0
    compiling.after = [partial(write, "kernels/a.txt", TWO, home)]
    assert compiling.code(tree, BuildOptions(defines=("OTHER",))) != b""
    assert compiling.count == 2
    assert compiling.code(tree, NO_OPTIONS) == wanted


@pytest.mark.slow("compiles a small port")
def test_what_was_another_only_while_it_was_compiled_is_compiled_again(
    tree: KernelSource, home: Path, compiling: Compiling
) -> None:
    def there_and_back() -> None:
        write("kernels/a.txt", TWO, home)
        write("kernels/a.txt", ONE, home)

    compiling.after = [there_and_back]
    compiling.code(tree, NO_OPTIONS)
    assert compiling.count == 2
    compiling.code(tree, NO_OPTIONS)
    assert compiling.count == 2


@pytest.mark.slow("compiles a small port")
def test_a_header_that_appears_while_it_is_compiled_is_not_missed(home: Path, compiling: Compiling) -> None:
    (row,) = (row for row in ROWS if row.name == "a header earlier in the search")
    row.lay_out(home)
    compiling.after = [partial(row.change, home)]
    code = compiling.code(row.of(home), row.options(home))
    write("first/a.h", ONE, home)
    assert compiling.code(row.of(home), row.options(home)) != code


@pytest.mark.slow("compiles a small port")
def test_what_is_broken_only_while_it_was_compiled_is_not_broken(
    tree: KernelSource, home: Path, compiling: Compiling, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_in_child = cache.compile_in_child

    def mended(*given: object, **named: object) -> bytes:
        try:
            return compile_in_child(*given, **named)  # type: ignore[arg-type]
        finally:
            if compiling.count == 1:
                write("kernels/a.txt", ONE, home)

    write("kernels/a.txt", WRONG, home)
    monkeypatch.setattr(cache, "compile_in_child", mended)
    assert compiling.code(tree, NO_OPTIONS)


@pytest.mark.slow("compiles a small port")
def test_what_never_stays_the_same_is_not_kept(tree: KernelSource, home: Path, compiling: Compiling) -> None:
    compiling.after = [partial(write, "kernels/a.txt", f"{ONE}// {count}\n", home) for count in range(3)]
    assert compiling.code(tree, NO_OPTIONS)
    assert compiling.count == 3
    compiling.code(tree, NO_OPTIONS)
    assert compiling.count == 4
    compiling.code(tree, NO_OPTIONS)
    assert compiling.count == 4


@pytest.mark.slow("compiles a small port")
def test_copies_of_a_tree_share_objects(tree: KernelSource, home: Path, tmp_path: Path, compiling: Compiling) -> None:
    code = compiling.code(tree, BuildOptions(include_dirs=(home / "kernels",)))
    assert os.fsencode(home) not in code
    shutil.copytree(home / "kernels", tmp_path / "copy/kernels")
    shutil.rmtree(home)
    copy = tmp_path / "copy/kernels"
    source = KernelSource(copy / "k.hip", copy)
    assert compiling.code(source, BuildOptions(include_dirs=(copy,))) == code
    assert compiling.count == 1
    (copy / "a.txt").write_text('#include "nowhere.h"\n')
    with pytest.raises(CompileError, match=r"does not compile: kernels/a\.txt:1:10: fatal error: '?nowhere\.h"):
        compiling.code(source, BuildOptions(include_dirs=(copy,)))


@pytest.mark.slow("compiles a small port")
def test_an_edit_and_its_opposite_need_one_compilation_each(
    tree: KernelSource, home: Path, compiling: Compiling
) -> None:
    codes = []
    for text in (ONE, TWO, ONE, TWO):
        write("kernels/a.txt", text, home)
        codes.append(compiling.code(tree, NO_OPTIONS))
    assert codes[:2] == codes[2:]
    assert compiling.count <= 3  # a file that has just been written may count as changed


@pytest.mark.slow("compiles a tree before and after an edit")
def test_what_nobody_reads_costs_no_compilation(tree: KernelSource, home: Path, compiling: Compiling) -> None:
    code = compiling.code(tree, NO_OPTIONS)
    started = compiling.count
    for name in ("kernels/other.h", "kernels/README", "kernels/in/b.txt"):
        write(name, WRONG, home)
    assert compiling.code(tree, NO_OPTIONS) == code
    assert compiling.count == started


@pytest.mark.slow("compiles a small port")
def test_a_size_of_waves_matters_to_whoever_asks_for_it(home: Path, compiling: Compiling) -> None:
    row = Row("", f"{TEXT}#include TEXT(a.txt)\n", "kernels/a.txt", one="#define VALUE __AMDGCN_WAVEFRONT_SIZE__\n")
    row.lay_out(home)
    codes = {compiling.code(row.of(home), NO_OPTIONS, wave) for wave in (32, 64)}
    assert len(codes) == 2
    write("kernels/a.txt", ONE, home)
    codes = {compiling.code(row.of(home), NO_OPTIONS, wave) for wave in (32, 64)}
    assert len(codes) == 1


def test_a_fifo_and_a_device_are_never_opened(home: Path) -> None:
    row = Row("", f'{TEXT}#include TEXT(fifo)\n#include "null"\n', "kernels/a.h")
    row.lay_out(home)
    os.mkfifo(home / "kernels/fifo")
    link("null", "/dev/null", home / "kernels")
    found = mentioned([home / "kernels/k.hip"], [home / "kernels"])
    assert found.files == (home / "kernels/k.hip",)
    assert tree_digest(home / "kernels")


OF_MACHINE_CODE = {
    "a byte order mark in a header",
    "a name in pieces",
    "a trigraph",
    "a header earlier in the search",
    ".incbin",
    "#embed",
}


@pytest.mark.nightly("compiles a small port")
@pytest.mark.skipif(bool(lacking()), reason=f"NOT COMPILED FOR AMD TARGETS: {lacking()}")
@pytest.mark.parametrize(
    "laid_out",
    [row for row in ROWS if row.name in OF_MACHINE_CODE],
    ids=lambda row: row.name,
    indirect=True,
)
def test_an_edit_is_compiled_for_amd(
    laid_out: Row, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    wanted = target("gfx942")
    toolchain = find_toolchain([wanted])
    source, options = laid_out.of(home), laid_out.options(home)
    before = compile_for(toolchain, source, wanted, options)
    again = compile_for(toolchain, source, wanted, options)
    assert (again.code, again.fresh) == (before.code, not laid_out.kept)
    laid_out.change(home)
    assert compile_for(toolchain, source, wanted, options).code != before.code


def test_a_program_that_is_mentioned_counts_and_nothing_that_it_mentions(tmp_path: Path) -> None:
    """A kernel that opened /proc/self/environ made the harness read through half of the machine."""
    (tmp_path / "program").write_bytes(b"\0header.h\0")
    (tmp_path / "header.h").write_text("")
    source = tmp_path / "k.hip"
    source.write_text(f'const char *names[] = {{"/proc/self/environ", "{tmp_path}/program"}};\n')
    assert mentioned([source], [tmp_path]).files == (source, tmp_path / "program")
