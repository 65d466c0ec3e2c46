"""Which words are English, by the tables that come with the model.

A word that no table knows is a name or a slip of the pen; a word that a table
knows is neither, however it is written.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any

from spacy.attrs import FLAG60, ORTH
from spacy.language import Language
from spacy.tokens import Token

from .spelling import CONTRACTIONS
from .vocabulary import KIN, NOT_NAMES, PEOPLE, relation

_WORD = int(FLAG60)
_CLASSES = ("noun", "verb", "adj", "adv")


class Lexicon:
    """The words of spaCy's rule lemmatizer (WordNet's) and its stop words, inflected or not."""

    def __init__(self, nlp: Language) -> None:
        lookups = nlp.get_pipe("lemmatizer").lookups  # type: ignore[attr-defined]
        index = lookups.get_table("lemma_index")
        exceptions = lookups.get_table("lemma_exc")
        rules: Any = lookups.get_table("lemma_rules")
        self._words = frozenset(
            chain(*(index.get(kind, ()) for kind in _CLASSES), *(exceptions.get(kind, ()) for kind in _CLASSES))
        ) | frozenset(nlp.Defaults.stop_words)
        self._rules = [(old, new) for kind in _CLASSES for old, new in rules.get(kind, ()) if old]
        self.knows = lru_cache(maxsize=20_000)(self._look_up)
        tokenizer: Any = nlp.tokenizer
        for word in (each for each in (*KIN, *PEOPLE) if "-" in each):
            for form in (word, word.capitalize()):
                tokenizer.add_special_case(form, [{ORTH: form}])  # "mother-in-law" is no mother
        nlp.vocab.add_flag(lambda word: self.knows(word.lower()), _WORD)

    def _look_up(self, word: str) -> bool:
        """Whether a word in lower case is one, or a form of one."""
        if word in self._words or word in NOT_NAMES or word in CONTRACTIONS or relation(word):
            return True
        return any(word.endswith(old) and word[: -len(old)] + new in self._words for old, new in self._rules)


def is_word(token: Token) -> bool:
    """Whether a token is an English word, and so no name unless it is written or tagged as one."""
    return bool(token.check_flag(_WORD))  # type: ignore[attr-defined]  # the stubs lack it
