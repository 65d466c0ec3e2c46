"""The contract, served: thin servicers and the guards around them.

A servicer reads a request into plain values, asks the room that knows, and
writes the answer. No model, SQL, vector or graph library may be imported here.
"""
