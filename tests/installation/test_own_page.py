"""docs/own-kernels.md with an installed wheel: nothing of it is changed, and nothing of this checkout is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installation.environment import Installation
from tests.own.page import follow


@pytest.mark.nightly("builds a wheel and follows the page with it")
def test_the_page_holds_for_an_installed_wheel(installation: Installation, tmp_path: Path) -> None:
    before = installation.files()
    follow(tmp_path, installation.environment / "bin", HOME=str(installation.home))
    assert installation.files() == before
