"""What the command line and pytest share: from what a user asked for to a run, and from its record to the exit code.

``setup`` makes the tree and the ``Setup`` of every process of options and the port's declaration, ``selection`` the
kernels and cases of patterns, ``outputs`` holds what is written apart from what is read, and ``gate`` decides. Neither
the command line nor pytest is known here::

    config = config_from(options)
    setup, tree = setup_from(...), tree_from(...)
    result = run(setup, JudgeGenerated(tree), kernels)
    code = conclude(gating, assemble(specs, result), rows, specs)
"""
