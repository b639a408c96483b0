"""What a machine lacks for shared libraries with host code, told from what a source gets wrong."""

from __future__ import annotations

import pytest

from conformance.toolchains.libraries import lacked_of_host


@pytest.mark.parametrize(
    "said",
    [
        "/usr/include/hip/amd_detail/amd_hip_runtime.h:41:10: fatal error: 'cmath' file not found",
        "ld.lld: error: unable to find library -lstdc++",
        "ld.lld: error: cannot open crtbeginS.o: No such file or directory",
        "clang++: error: invalid linker name in argument '-fuse-ld=lld'",
    ],
)
def test_a_machine_without_a_linker_or_a_library_is_no_mistake_of_the_source(said: str) -> None:
    assert (lacked_of_host(said) or "").endswith("; install g++ and lld")


@pytest.mark.parametrize(
    "said",
    [
        "k.hip:1:10: fatal error: 'own.h' file not found",
        "k.hip:7:3: error: use of undeclared identifier 'x'",
        "clang++: error: unable to execute command: Killed",
    ],
)
def test_what_a_source_gets_wrong_is_its_own(said: str) -> None:
    assert lacked_of_host(said) is None
