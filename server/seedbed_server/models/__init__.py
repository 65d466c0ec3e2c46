"""Local models: what they are, the children that run them, and what they say.

The only room that may import spacy, sentence_transformers, torch and
transformers; and even here only in modules that run inside a child process.
`contract` and `reading` import none of them, so any process may use them.
"""
