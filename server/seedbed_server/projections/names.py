"""When two names are one: the form that names are compared in, and the ids made of it."""

from __future__ import annotations

import hashlib
import re

from seedbed_server.projections.analysis import MARKS, normalise

LONGEST = 256  # code points of a name: as many as an identifier of the contract has bytes
PRONOUNS = frozenset(
    """
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves this that these those who whom whose which what
    someone somebody anyone anybody everyone everybody nobody something anything everything nothing one
    """.split()  # noqa: SIM905 - one word after another reads best
)
# Articles and other words that only hold names together. In lower case: people are called "A", "An" and "Do".
PARTICLES = frozenset(
    """
    a an the and or but nor of in on at to for with by from as than then if because about into
    am is are was were be been being do does did has have had not there
    """.split()  # noqa: SIM905
)

# Around a name: all but letters, digits, the marks of scripts that need them, and what "C++" and "F#" end with.
_TRIM = re.compile(rf"^(?:the|a|an)\s+(?=\w)|^[\W_]+|'s$|(?:[^\w+#{MARKS}]|_)+$")
_SPACE = re.compile(r"\s+")


def canonical(name: str) -> str:
    """Return the form in which equal names are equal; "" for what names nothing.

    NFKC and case folded, white space single, without a leading article, a
    possessive ending or punctuation around it. Pronouns and articles name nothing,
    nor does what is too long for a name: cut, two such names would be one.
    """
    if len(name) > LONGEST:
        return ""
    form = _SPACE.sub(" ", normalise(name)).strip()
    while (trimmed := _TRIM.sub("", form)) != form:
        form = trimmed
    if form in PRONOUNS or form == "the" or (form in PARTICLES and name == name.lower()):
        return ""
    return form


def entity_id(form: str) -> str:
    """The id of the entity with this canonical name: the same in every memory and after every rebuild."""
    return "e" + hashlib.blake2b(form.encode(errors="replace"), digest_size=12).hexdigest()


def triple_id(subject_id: str, predicate: str, object_id: str, negated: bool, modality: str) -> str:
    """The id of a fact: one for the same fact from several messages."""
    key = "\x1f".join((subject_id, predicate, object_id, str(int(negated)), modality))
    return "t" + hashlib.blake2b(key.encode(errors="replace"), digest_size=12).hexdigest()
