"""A process that starts children through a ``Supervisor`` and says which: what the tests kill.

``python parent.py KIND`` prints the numbers of child and grandchild and the scratch folder, then waits.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from conformance.processes import Supervisor

STUBBORN = """
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=LEAVES)
open(os.path.join(os.environ["TMPDIR"], "left"), "w").write("x")
print(grandchild.pid, flush=True)
time.sleep(600)
"""


def main(kind: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell has its background jobs ignore it
    supervisor = Supervisor()
    program = STUBBORN.replace("LEAVES", str(kind == "leaves"))
    if kind == "nothing":
        print(0, 0, supervisor.scratch, flush=True)
    elif kind == "forked":
        text = STUBBORN.replace("LEAVES", "False")
        child = supervisor.fork("copy", lambda: exec(text), (), sys.stdout.fileno(), os.environ)
        print(child.pid, supervisor.scratch, flush=True)
    else:
        child = supervisor.start([sys.executable, "-c", program], stdout=sys.stdout.fileno())
        print(child.pid, supervisor.scratch, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1])
