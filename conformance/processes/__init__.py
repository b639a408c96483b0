"""Child processes that cannot outlive the process that started them.

>>> from conformance.processes.supervisor import run_bounded
>>> run_bounded(["echo", "hello"], seconds=10.0)
Finished(code=0, out='hello\\n', err='')
"""

from conformance.processes.child import Child, InfrastructureError, die_with_parent, parent_word
from conformance.processes.supervisor import Supervisor
