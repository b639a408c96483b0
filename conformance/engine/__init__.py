"""Running kernels: a run's own process, its judges and timers, and the executors that they share.

Own process: ``run``, ``journal``, ``pool`` (judges and timers), ``executor_host`` (processes that fork executors).
Judge: ``judge_process``, ``executor_client``, ``remote_executor``; with timers ``compiler``, ``library`` and
``linked_launchers``. Executor: ``executor`` (forks), ``executor_server`` (launches). Timer and ``bench``: ``timing``.
Between them: ``ipc`` and ``coding`` (how messages travel), ``messages`` (between the command and judges or timers),
``protocol`` (about executors), ``modes`` (what a run does with kernels).
"""
