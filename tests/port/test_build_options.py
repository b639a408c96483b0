"""How a tree is compiled: the command line, ``candle-parity.toml``, and what a compiled object is kept under."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import pytest

from conformance.adapter import AdapterRow, OwnValue
from conformance.cases.candle_changes import CHANGES
from conformance.geometry import GeometryRow
from conformance.port.compiling import cache
from conformance.port.compiling.reads import Reads
from conformance.port.compiling.target import CompileTarget
from conformance.port.config import _KEYS, Excluded, KnownFailure, read_config
from conformance.port.declared.declared import declared_in
from conformance.port.definitions.scan import scan_file
from conformance.port.definitions.source_text import ScanError, reached
from conformance.port.digest import tree_digest
from conformance.port.options import NO_OPTIONS, BuildOptions, is_cuda
from conformance.port.sources import KernelSource, SourceError, find_sources
from conformance.processes import Supervisor
from conformance.runtimes import runtime_kind
from conformance.settings import Settings
from conformance.spec.load import load_specs
from tests.port.options import options_for


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one source, next to it a folder of headers."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "shim").mkdir()
    (tmp_path / "kernels" / "unary.hip").write_text('#include "shim.h"\n')
    (tmp_path / "shim" / "shim.h").write_text("#define SHIM 1\n")
    return tmp_path / "kernels"


def test_the_file_beside_the_tree_and_the_command_line_add_up(tree: Path) -> None:
    file = tree.parent / "candle-parity.toml"
    file.write_text('include_dirs = ["shim"]\ndefines = ["A", "B=1"]\nforced_includes = ["shim/shim.h"]\n')
    options = options_for(tree, [tree], ["B=2"], [Path("shim.h")], None)
    assert options.include_dirs == (tree, tree.parent / "shim")
    assert options.defines == ("A", "B=1", "B=2")
    assert options.forced == (tree.parent / "shim" / "shim.h",) * 2
    assert options.dialect == "auto"
    assert options.compiler_flags()[:4] == [f"-I{tree}", f"-I{tree.parent / 'shim'}", "-DA", "-DB=1"]


def test_a_file_in_the_tree_goes_before_one_beside_it(tree: Path) -> None:
    (tree.parent / "candle-parity.toml").write_text('defines = ["BESIDE"]')
    (tree / "candle-parity.toml").write_text('defines = ["INSIDE"]\ndialect = "hip"')
    assert options_for(tree) == BuildOptions(defines=("INSIDE",), dialect="hip")
    assert options_for(tree / "unary.hip").defines == ("INSIDE",)
    assert options_for(tree, dialect="cuda").dialect == "cuda"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('include_dir = ["x"]', ("unknown key 'include_dir'", "include_dirs, defines, undefines, forced_includes")),
        ('defines = "A"', ("defines must be a list of strings", "'A'")),
        ("defines = [1]", ("defines must be a list of strings",)),
        ('dialect = "opencl"', ("dialect must be one of auto, hip, cuda", "'opencl'")),
        ('include_dirs = ["absent"]', ("include_dirs", "absent", "is not a folder")),
        ('forced_includes = ["absent.h"]', ("forced_includes", "absent.h", "is not a file")),
        ('defines = ["1A"]', ("'1A' is not a macro", "NAME=VALUE")),
        ("include_dirs = [", ("cannot be read as TOML",)),
        ('undefines = ["A=1"]', ("undefines 'A=1' is not a macro's name",)),
        ('std = "c99"', ("std 'c99' is not a standard of C++", "c++20")),
        ("kernels = 3", ("kernels must be a string", "int")),
        ("names = 3", ("names must be a table", "int")),
        ("[names]\n'a*' = 3", ("names: 'a*' must be a string", "int")),
        ("[[known_failures]]\nkernels = 'a'", ("known_failures, row 1 has no reason", "add reason = ...")),
        ("[[known_failures]]\nruntime = 'gpu'", ("row 1: runtime must be one of", "'gpu'")),
        ("[[launch]]\nkernels = 'a'\ngird = 1", ("launch, row 1: unknown key 'gird'", "grid, block, shared")),
        ("[[launch]]\nkernels = 'a'\ngrid = [1, 2, 3, 4]", ("launch, row 1: grid", "one to three sizes")),
        ("[[launch]]\nkernels = 'a'\nblock = 1.5", ("launch, row 1: block must be an integer or an expression",)),
        ("[[launch]]\nkernels = 'a'", ("launch, row 1 changes nothing; add one of grid, block, shared",)),
        ("kernels = ''", ("kernels must be a string that is not empty",)),
        ("launch = 3", ("launch must be tables, each under its [[launch]]",)),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tree: Path, text: str, words: Sequence[str]) -> None:
    file = tree / "candle-parity.toml"
    file.write_text(text)
    with pytest.raises(SourceError) as raised:
        options_for(tree)
    for word in (str(file), *words):
        assert word in str(raised.value)


def test_bad_words_on_the_command_line(tree: Path) -> None:
    with pytest.raises(SourceError, match=r"-I .*absent is not a folder"):
        options_for(tree, [tree / "absent"])
    with pytest.raises(SourceError, match="-D 'A B' is not a macro"):
        options_for(tree, defines=["A B"])
    with pytest.raises(SourceError, match=r"--include absent\.h is not a file"):
        options_for(tree, forced=[Path("absent.h")])


def test_a_header_that_is_no_file_here_is_looked_for_where_a_compiler_would(tree: Path) -> None:
    """Next to the include folders by its whole path; what is named as a vendor's is the compiler's to find."""
    (tree.parent / "shim" / "deep").mkdir()
    (tree.parent / "shim" / "deep" / "a.h").write_text("")
    options = options_for(tree, [tree.parent / "shim"], forced=[Path("deep/a.h"), Path("hip/hip_fp16.h")])
    assert options.forced == (tree.parent / "shim" / "deep" / "a.h", Path("hip/hip_fp16.h"))
    assert options.compiler_flags()[-2:] == ["-include", "hip/hip_fp16.h"]
    with pytest.raises(SourceError, match=r"--include deep/b\.h is not a file"):
        options_for(tree, [tree.parent / "shim"], forced=[Path("deep/b.h")])


def test_the_command_line_wins_over_the_file(tree: Path) -> None:
    (tree / "candle-parity.toml").write_text(
        'defines = ["A=1", "F(x)=x", "KEPT"]\nundefines = ["B", "C"]\nstd = "c++20"\ndialect = "hip"\n'
    )
    options = options_for(tree, defines=["B=2"], undefines=["A", "F"], std="gnu++17", dialect="cuda")
    assert options.defines == ("KEPT", "B=2")
    assert options.undefines == ("C", "A", "F")
    assert (options.std, options.dialect) == ("gnu++17", "cuda")
    flags = options.compiler_flags()
    assert flags == ["-std=gnu++17", "-DKEPT", "-DB=2", "-UC", "-UA", "-UF"]
    assert options_for(tree).std == "c++20"
    for word in ("A=1", "1A"):
        with pytest.raises(SourceError, match=f"-U '{word}' is not a macro's name"):
            options_for(tree, undefines=[word])
    with pytest.raises(SourceError, match="--std 'c99' is not a standard"):
        options_for(tree, std="c99")


def test_another_file_is_taken_where_it_is_named(tree: Path) -> None:
    (tree / "candle-parity.toml").write_text('defines = ["INSIDE"]')
    other = tree.parent / "other.toml"
    other.write_text('kernels = "kernels"\ndefines = ["OTHER"]')
    config = read_config(other)
    assert config.settings.kernels == tree
    assert options_for(tree, config=config).defines == ("OTHER",)


def test_the_preprocessor_takes_macros_back_and_has_the_standard(tmp_path: Path) -> None:
    """``check`` and the search for a kernel see what the compiler sees."""
    source = tmp_path / "a.hip"
    source.write_text(
        "#ifdef A\n#error A is there\n#endif\n#if __cplusplus < 202002L\n#error old\n#endif\n"
        '#ifndef KEPT\n#error no header\n#endif\nextern "C" __global__ void k(int n) {}\n'
    )
    (tmp_path / "kept.h").write_text("#define KEPT\n")
    forced = (tmp_path / "kept.h", Path("hip/hip_fp16.h"))
    (found,) = scan_file(source, (tmp_path,), ("A", "B"), forced, ("A",), "c++20").kernels
    assert found.name == "k"
    with pytest.raises(ScanError, match="A is there"):
        scan_file(source, (tmp_path,), ("A",), forced, (), "c++20")


def test_an_object_is_kept_until_something_that_it_is_made_of_changes(
    tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    asked: list[tuple[str, ...]] = []

    def compile_in_child(
        text: str, label: str, words: Sequence[str], *rest: object, reads: Reads, **more: object
    ) -> bytes:
        """A compiler that does not say what it reads."""
        asked.append(tuple(words))
        reads.listed = False
        return str(len(asked)).encode()

    monkeypatch.setattr(cache, "compile_in_child", compile_in_child)
    shim = tree.parent / "shim"
    options = options_for(tree, [shim])
    (source,) = find_sources(tree)
    target = CompileTarget(runtime_kind("cpu"), 64, "cpu", "counting")

    def made(options: BuildOptions = options, *extra: str, target: CompileTarget = target) -> int:
        cache.made(source, target, Supervisor(), options, extra)
        return len(asked)

    assert (made(), made()) == (1, 1)
    (shim / "unused.h").write_text("// nobody includes this")
    assert made() == 1
    (shim / "shim.h").write_text('#include "deeper.h"\n')
    assert made() == 2
    (shim / "deeper.h").write_text("#define DEEPER 1\n")
    assert made() == 3
    (shim / "deeper.h").write_text("#define DEEPER 2\n")
    assert made() == 4
    assert made(BuildOptions(include_dirs=(shim,), defines=("A",))) == 5
    assert made(BuildOptions(include_dirs=(shim,), forced=(shim / "unused.h",))) == 6
    (shim / "unused.h").write_text("// now somebody does")
    assert made(BuildOptions(include_dirs=(shim,), forced=(shim / "unused.h",))) == 7
    assert made(options, "-x", "cuda") == 8
    assert (made(), len(asked)) == (8, 8)
    assert asked[0] == (f"-I{tree.name}", f"-I{shim}")
    # A header that only a preprocessor can name: then nothing is kept.
    (shim / "deeper.h").write_text("#include CHOSEN\n")
    assert (made(), made()) == (9, 10)
    (shim / "deeper.h").write_text("#define DEEPER 2\n")
    assert made(target=replace(target, identity="another compiler")) == 11
    assert made(target=replace(target, runtime=runtime_kind("rocm"), arch="gfx942")) == 12
    assert asked[-1][-1] == "--offload-arch=gfx942"
    assert made(target=replace(target, wave=32)) == 12
    assert made(replace(options, undefines=("A",))) == 13
    assert made(replace(options, std="c++20")) == 14


def test_headers_are_followed_through_their_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first, second = tmp_path / "first.cu", tmp_path / "a" / "second.cuh"
    first.write_text('  #  include <a/second.cuh>\n#include <cuda.h>\n// #include "never.h"\n')
    second.write_text('#include "../first.cu"\n')
    found = reached([first], [tmp_path])
    assert (found.files, found.complete) == ((second, first), True)


def test_the_digest_of_a_tree_covers_its_options(tree: Path) -> None:
    shim = tree.parent / "shim"
    plain, options = tree_digest(tree), options_for(tree, [shim])
    assert tree_digest(tree, BuildOptions()) == plain
    with_shim = tree_digest(tree, options)
    assert len({plain, with_shim, tree_digest(tree, options_for(tree, [shim], ["A"]))}) == 3
    others = [
        options_for(tree, undefines=["A"]),
        options_for(tree, std="c++20"),
        options_for(tree, [], [], [Path("hip/a.h")]),
    ]
    assert len({plain, *(tree_digest(tree, each) for each in others)}) == 4
    (shim / "shim.h").write_text("#define SHIM 2\n")
    assert tree_digest(tree, options) != with_shim


def test_a_cuda_source_is_told_by_what_it_includes_and_then_by_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "shim.h").write_text("#include <hip/hip_fp16.h>\n")
    for name, text, cuda in (
        ("a.cu", "#include <cuda_fp16.h>\n", True),
        ("b.cu", "#include <hip/hip_runtime.h>\n", False),
        ("c.hip", "", False),
        ("d.cu", '#include "shim.h"\n', False),
    ):
        (tmp_path / name).write_text(text)
        assert is_cuda(KernelSource(tmp_path / name, tmp_path), NO_OPTIONS) is cuda
    forced = BuildOptions(forced=(tmp_path / "shim.h",))
    assert not is_cuda(KernelSource(tmp_path / "a.cu", tmp_path), forced)
    assert is_cuda(KernelSource(tmp_path / "b.cu", tmp_path), BuildOptions(dialect="cuda"))


def test_the_page_has_every_key_that_is_not_an_option_and_its_example_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "declaration.md").read_text()
    _, *parts = re.split(r"^## `(\w+)`\n", page, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    assert sections.keys() == {"own", *_KEYS} - ({row.name for row in Settings.rows()} - {"own"}) - {"gate"}
    assert re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\)", page, re.MULTILINE) == [(key, key) for key in sections]
    tables: dict[str, list[type]] = {
        "known_failures": [KnownFailure],
        "launch": [GeometryRow],
        "exclude": [Excluded],
        "adapter": [AdapterRow, OwnValue],
    }
    for key, kinds in tables.items():
        # An argument of Candle's stands for itself, without a key.
        names = [field.name for kind in kinds for field in fields(kind) if field.name != "candle"]
        assert [name for name in names if not re.search(rf"`{name}`|\b{name} = ", sections[key])] == []
    specs = load_specs()
    defects = {kernel.fix.name for kernel in specs.entries.values() if kernel.fix is not None}
    assert set(re.findall(r"^\| `([\w-]+)` \|", sections["fixes"], re.MULTILINE)) == defects
    known = [change.commit for change in CHANGES]
    assert re.findall(r"^\| `(\w+)` \|", sections["candle_before"], re.MULTILINE) == known
    (tmp_path / "candle-parity.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    (tmp_path / "shim").mkdir()
    (tmp_path / "shim" / "cuda_to_hip.h").write_text("")
    config = read_config(tmp_path / "candle-parity.toml")
    assert options_for(tmp_path, config=config).forced[-1] == Path("hip/hip_fp16.h")
    declared = declared_in(config, specs.kernels, {})
    assert declared.names.port("mul_mat_vec_q4_0_q8_1_cuda1") == "mul_mat_vec_q4_0_q8_1_hip1"
    assert (len(declared.known_failures), len(declared.launch), len(declared.fixed)) == (1, 2, 1)
    assert (config.settings.wave, config.settings.arch, len(declared.exclude)) == (32, "gfx1100", 1)
    assert len(declared.adapter) == 1
