"""An nvcc that compiles host code alone: started by a script called nvcc, with the C++ compiler in the environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TOOLKIT = Path(__file__).with_name("toolkit")
RELEASE = "Cuda compilation tools, release 12.8, V12.8.61"


def main(words: list[str]) -> int:
    if words == ["--version"]:
        print(RELEASE)
        return 0
    assert "--gpu-architecture=sm_90" in words
    kept = [word for word in words if word.startswith(("-I", "-D", "-std="))]
    includes = [part for at, word in enumerate(words) if word == "-include" for part in words[at : at + 2]]
    output = words[words.index("-o") + 1]
    compiler = json.loads(os.environ["STAND_IN_CXX"])
    command = [*compiler, "-shared", "-fPIC", *kept, f"-I{TOOLKIT}", *includes, "-x", "c++", words[-1], "-o", output]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
