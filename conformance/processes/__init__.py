"""Child processes that cannot outlive the process that started them."""

from conformance.processes.child import Child, InfrastructureError, die_with_parent, parent_word
from conformance.processes.supervisor import Supervisor
