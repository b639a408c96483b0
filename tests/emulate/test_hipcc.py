"""What hipcc of an installation with kernels for the host makes of its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.emulate.hipcc import NotCompiled, compile_and_link, options_of_kernels, rule_options, sorted_words


def test_sources_objects_and_options_are_told_apart() -> None:
    found = sorted_words(
        [
            "-O2",
            "-I",
            "include",
            "a.hip",
            "b.o",
            "-L",
            "lib",
            "-lm",
            "c.cpp",
            "-Wl,-z,now",
            "-D",
            "A=1",
            "-o",
            "program",
        ]
    )
    assert found.sources == ["a.hip", "c.cpp"]
    assert found.linked == ["b.o", "-L", "lib", "-lm", "-Wl,-z,now"]
    assert found.options == ["-O2", "-I", "include", "-D", "A=1"]
    assert (found.output, found.only_compiles, found.device_only, found.alone) == ("program", False, False, False)


@pytest.mark.parametrize("word", ["--genco", "--offload-device-only", "--cuda-device-only"])
def test_kernels_alone_are_asked_for_by_each_of_their_options(word: str) -> None:
    assert sorted_words([word, "a.hip", "-o", "a.co"]).device_only


@pytest.mark.parametrize("word", ["-E", "-M", "--version", "-fsyntax-only", "--offload-host-only"])
def test_what_makes_no_kernels_is_left_to_the_other_compiler(word: str) -> None:
    assert sorted_words([word, "a.hip"]).alone


def test_a_language_that_is_named_holds_for_what_follows() -> None:
    found = sorted_words(["-x", "hip", "a.txt", "-x", "c++", "b.cpp", "-x", "none", "c.o"])
    assert found.sources == ["a.txt"]
    assert found.linked == ["-x", "c++", "b.cpp", "-x", "none", "c.o"]


def test_kernels_get_the_options_that_their_compiler_knows() -> None:
    options = [
        "-g",
        "-O3",
        "-DA",
        "-I",
        "include",
        "-fPIC",
        "-ffast-math",
        "-Xclang",
        "-mllvm",
        "--offload-arch=gfx942",
        "-std=c++17",
        "-MD",
    ]
    own = ["-O3", "-DA", "-I", "include", "-ffast-math", "-std=c++17"]
    assert options_of_kernels(options, Path("src/a.hip")) == ["-iquote", "src", *own]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("-c a.hip", ""),
        ("-MD -c src/a.hip", "-MF a.d -MT a.o"),
        ("-MD -c a.hip -o build/b.o", "-MF build/b.d -MT build/b.o"),
        ("-MMD -MF c.d -c a.hip -o b.o", "-MT b.o"),
        ("-MD -MF c.d -MT d.o -c a.hip -o b.o", ""),
    ],
)
def test_make_rules_are_for_the_object_that_the_caller_gets(words: str, options: str) -> None:
    found = sorted_words(words.split())
    assert rule_options(found, found.sources[0]) == options.split()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            "-fgpu-rdc -c a.hip -o a.o",
            "hipcc: kernels for the host are made of one source each: build without -fgpu-rdc",
        ),
        ("-c a.hip b.hip -o a.o", "hipcc: -o names one file, and 2 sources are compiled: leave it out"),
    ],
)
def test_what_cannot_be_compiled_is_a_sentence(tmp_path: Path, words: str, why: str) -> None:
    with pytest.raises(NotCompiled) as raised:
        compile_and_link(tmp_path, words.split())
    assert str(raised.value) == why
