"""The Seedbed server: how a message becomes a seed.

    rpc  ->  log  ->  projections  ->  recall  ->  memories  ->  rpc

``log`` holds the only truth. ``projections`` derive vectors, words, entities,
triples and summaries from it. ``recall`` ranks. ``memories`` turn a variant into
a seed. ``models`` and ``processes`` keep the heavy libraries out of this process.
``rpc`` translates, ``app`` puts it all together.
"""

__version__ = "0.1.0"
