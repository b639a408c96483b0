"""AMD's libraries, the boxes with them, and the interpreters; a test is skipped where one of them is not to be had."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache

import pytest

from tests.rocm_libraries.box import LAYOUTS, Box, Layout
from tests.rocm_libraries.libraries import Libraries, Unavailable, libraries_of
from tests.rocm_libraries.pythons import LINES, python_with
from tests.rocm_libraries.releases import RELEASES, Release

GetBox = Callable[[Libraries, Layout], Box]


@cache
def _outcome(release: Release) -> Libraries | str:
    try:
        return libraries_of(release)
    except Unavailable as missing:
        return str(missing)


@cache
def _boxed(libraries: Libraries, layout: Layout) -> Box | str:
    try:
        return Box(libraries, layout)
    except Unavailable as missing:
        return str(missing)


def unpacked(release: Release) -> Libraries:
    """AMD's libraries of ``release``; skips the test where they are not to be had."""
    found = _outcome(release)
    if isinstance(found, str):
        pytest.skip(f"AMD'S LIBRARIES ARE NOT TO BE HAD: HIP {release.name}: {found}")
    if found.version != release.version:
        warnings.warn(f"HIP {found.version} was tried where {release.version} is gone", stacklevel=1)
    return found


@pytest.fixture(params=RELEASES, ids=lambda release: f"hip-{release.name}")
def libraries(request: pytest.FixtureRequest) -> Libraries:
    """AMD's libraries of a release."""
    return unpacked(request.param)


@pytest.fixture
def get_box() -> GetBox:
    def get(libraries: Libraries, layout: Layout) -> Box:
        found = _boxed(libraries, layout)
        if isinstance(found, str):
            pytest.skip(f"AMD'S LIBRARIES ARE NOT TO BE HAD: {found}")
        return found

    return get


@pytest.fixture(params=LAYOUTS, ids=lambda layout: layout.name)
def box(request: pytest.FixtureRequest, libraries: Libraries, get_box: GetBox) -> Box:
    """A machine with AMD's libraries in one of the layouts."""
    return get_box(libraries, request.param)


@pytest.fixture(params=LINES, ids=lambda line: f"hip-python-{line}")
def python(request: pytest.FixtureRequest) -> str:
    """An interpreter with one of the hip-pythons."""
    try:
        return python_with(request.param)
    except Unavailable as missing:
        pytest.skip(str(missing))
