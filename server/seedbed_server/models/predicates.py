"""The predicates that claims are made of, and what they mean to each other: data only, of our own making.

A predicate is canonical when two ways of saying the same thing give the same
one; what is not in `PREDICATES` stays as the lemmas of its words. Relations to
people and pets ("sister", "dog") are predicates too: see `vocabulary.relation`.
Which have one value at a time is said in `SINGLE`; all others may have many.
docs/knowledge-vocabulary.md shows the same as a table.
"""

from __future__ import annotations

PREDICATES = {
    # living somewhere
    "live in": "live in", "live at": "live in", "reside in": "live in", "be based in": "live in",
    # moving: said as an event, whatever the tense, because that is what it is
    "move to": "moved to", "move into": "moved to", "relocate to": "moved to", "move back to": "moved to",
    "move in": "moved to", "move over to": "moved to", "move from": "moved from", "immigrate to": "moved to",
    "emigrate to": "moved to",
    # origin
    "come from": "be from", "hail from": "be from", "be born in": "be born in", "be born on": "be born on",
    "grow up in": "grow up in", "be raised in": "grow up in",
    # work and study
    "work at": "work at", "work for": "work at", "be employed by": "work at", "be employed at": "work at",
    "have job at": "work at", "get job at": "work at", "get job with": "work at", "start job at": "work at",
    "land job at": "work at", "take job at": "work at", "start work at": "work at", "start work for": "work at",
    "start at": "work at", "join": "join", "study at": "study at", "go to school at": "study at",
    "enrol at": "study at",
    "enroll at": "study at", "enroll in": "enroll in", "be enrolled in": "enroll in",
    "quit job at": "leave", "leave job at": "leave", "lose job at": "leave", "leave": "leave",
    # possession
    "have": "have", "own": "have", "have get": "have", "possess": "have",
    # liking
    "like": "like", "enjoy": "like", "be fond of": "like", "be into": "like", "be keen on": "like",
    "be a fan of": "like",
    "love": "love", "adore": "love", "be in love with": "love", "dislike": "dislike", "can stand": "like",
    "can bear": "like", "hate": "hate", "detest": "hate", "loathe": "hate", "prefer": "prefer",
    "can tolerate": "like",
    # marriage
    "marry": "marry", "get married to": "marry", "be married to": "be married to", "get engaged to": "be engaged to",
    "get divorced from": "be divorced from", "break up with": "be separated from",
    "split up with": "be separated from", "split with": "be separated from", "separate from": "be separated from",
    # going
    "go to": "go to", "travel to": "go to", "fly to": "go to", "be to": "go to", "take trip to": "go to",
    "go on trip to": "go to", "take train to": "go to", "take bus to": "go to", "take flight to": "go to",
    "take ferry to": "go to", "drive to": "go to", "head to": "go to", "visit": "visit",
    "move out of": "moved from", "return to": "go to", "move back from": "moved from", "relocate from": "moved from",
    "emigrate from": "moved from", "move here from": "moved from", "move over from": "moved from",
    "move back in": "moved to",
    # work again
    "start job as": "work as", "get job as": "work as", "have job as": "work as", "take job as": "work as",
    "find job at": "work at", "find job as": "work as", "be with": "work at", "be hired by": "work at",
    "be hired at": "work at", "have position at": "work at", "get position at": "work at", "quit": "quit",
    "get fired from": "be fired from", "be let go from": "be fired from", "take position at": "work at",
    # liking again
    "be crazy about": "love", "be mad about": "love", "be passionate about": "love", "be obsessed with": "love",
    # food
    "be allergic to": "be allergic to", "have allergy to": "be allergic to",
}  # fmt: skip
"""As parsed (lemmas of verb, particle, preposition): canonical. What is not here stays as parsed."""


STATE_CHANGES = {
    "die": "dead",
    "pass away": "dead",
    "pass on": "dead",
    "pass": "dead",
    "retire": "retired",
    "divorce": "divorced",
}
"""Verbs without an object that leave somebody in a state: (Maya's grandmother, be, dead)."""


PAST_STATES = {
    "be in": "was in", "be at": "was at", "live in": "used to live in", "live with": "used to live with",
    "work at": "used to work at", "work as": "used to work as", "work in": "used to work in",
    "study at": "used to study at", "study": "study", "be": "used to be", "have": "had",
    "be married to": "used to be married to",
    "be engaged to": "used to be engaged to",
}  # fmt: skip
"""States that a past tense ends: "I lived in Oslo" must not read as living there."""


MUTUAL = {
    "siblings", "brothers", "sisters", "cousins", "twins", "friends", "mates", "buddies", "pals", "neighbours",
    "neighbors", "colleagues", "coworkers", "classmates", "teammates", "roommates", "flatmates", "housemates",
    "partners",
}  # fmt: skip
"""What two people are to each other: "Tom and Ana are cousins"."""


MUTUAL_STATES = {
    "married": "be married to", "engaged": "be engaged to", "divorced": "be divorced from", "marry": "marry",
    "divorce": "be divorced from", "separated": "be separated from", "split": "be separated from", "date": "date",
    "dating": "date", "break up": "be separated from", "split up": "be separated from",
    "separate": "be separated from",
}  # fmt: skip
"""States and verbs of two, and the predicate that joins one to the other."""


LASTS = ("be born", "be from", "be called")
"""Predicates that a past tense does not end: "She was from Rome"."""


SINGLE = {
    "live in": "residence",
    "lives in": "residence",
    "moved to": "residence",
    "work at": "employer",
    "works at": "employer",
    "works for": "employer",
    "be married to": "spouse",
    "marry": "spouse",
    "be born in": "birthplace",
}


ENDINGS = {
    "used to live in": "residence",
    "moved from": "residence",
    "used to work at": "employer",
    "quit": "employer",
    "leave": "employer",
    "used to be married to": "spouse",
    "be divorced from": "spouse",
}


_FOR, _AGAINST = ("like", "love"), ("dislike", "hate")
OPPOSITES = dict.fromkeys(_FOR, _AGAINST) | dict.fromkeys(_AGAINST, _FOR)
STRONGER = {"like": ("love",), "dislike": ("hate",)}
"""What is denied with a predicate: who does not like something does not love it."""
