"""The derived stores: everything that is made from the log and can be made again.

A message flows from the log through the projector into each projection
(vectors, lexical terms, knowledge, summaries). Nothing here is the truth:
deleting the whole folder loses nothing. Only this room imports chromadb,
networkx and Stemmer; what it stores itself is in one SQLite file.
"""
