"""Local models: what they are, where their files come from, and the workers that run them.

    manifest.toml   every file of every model, with its sha256
    weights         fetches and verifies those files; needs the standard library only
    contract        what goes to a model and what comes back
    encoder, tagger parent-side facades; they import no model library
    *_child, *_worker  what runs in the child processes, the only place of torch and spaCy

Texts enter, vectors and spans leave. Nothing here knows of memories or storage.
"""
