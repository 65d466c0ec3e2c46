"""How fast Seedbed is, measured as ratios in one run: ``make bench``, or ``python -m benchmarks``.

Every benchmark compares the product with something plain that does part of its
work on the same machine at the same time (a bare commit, a bare encoder), turn
and turn about, so that a busy or a slow machine changes the figures and not the
verdict. It runs against a server of its own, over gRPC, on generated texts.
"""
