"""Running kernels: a run's own process, its judges and timers, and the executors that they share.

Own process: ``run``, ``journal``, ``pool`` (judges and timers), ``executor_host`` (processes that fork executors).
Judge: ``judge_process``, ``executor_client``, ``remote_executor``; with timers ``compiler``, ``library`` and
``linked_launchers``. Executor: ``executor`` (forks), ``executor_server`` (launches). Timer and ``bench``: ``timing``.
Between them: ``ipc`` and ``coding`` (how messages travel), ``messages`` (between the command and judges or timers),
``protocol`` (about executors), ``modes`` (what a run does with kernels).

A message is a frozen dataclass, and travels as a map that names its kind:

    >>> from conformance.engine.coding import from_map, to_map
    >>> from conformance.engine.protocol import WantExecutor
    >>> to_map(WantExecutor(alone=True))
    {'kind': 'WantExecutor', 'data': {'alone': True}}
    >>> from_map(to_map(WantExecutor(alone=True)))
    WantExecutor(alone=True)
"""
