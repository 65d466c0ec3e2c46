"""What chat messages say of plans, moves, employers and names, on the real model: the claims, their times, the types.

A claim is written as in `test_extraction`, with "from" and "to" dates behind it where it has them.
All messages are said by Maya on 11 February 2025.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seedbed_server.models.contract import Claim

from .conftest import Read

NOW = datetime(2025, 2, 11, 12, tzinfo=UTC)

# What is said to begin later is a plan, and a time that hangs on another word is not when a state began.
TIMES = {
    "We're getting married on 6 September in Kerala": ["Maya | be | married | planned | from 2025-09-06"],
    "He proposed! We're getting married next June": ["Maya | be | married | planned | from 2025-06-01"],
    "I'm pregnant, due in July!": ["Maya | be | pregnant"],
    "I'm pregnant and due in July": ["Maya | be | pregnant"],
    "I've been vegan since 2019": ["Maya | be | vegan | from 2019-01-01"],
    "I start at Google on Monday": ["Maya | work at | Google | planned | from 2025-02-17"],
    "I work at Google from next Monday": ["Maya | work at | Google | planned | from 2025-02-17"],
    "I live in Oslo since May": ["Maya | live in | Oslo | from 2024-05-01"],
    "Tomorrow I'm flying to Nairobi": ["Maya | go to | Nairobi | planned | from 2025-02-12"],
    "I go to Lima tomorrow": ["Maya | go to | Lima | planned | from 2025-02-12"],
    "my mum is staying with us next week": ["Maya's mother | stay with | Maya | planned | from 2025-02-17"],
    "Tom got married last Saturday": ["Tom | be | married | from 2025-02-08"],
    "I got married yesterday!": ["Maya | be | married | from 2025-02-10"],
    "We got married last May": ["Maya | be | married | from 2024-05-01"],
    "I got engaged to Tom yesterday": ["Maya | be engaged to | Tom | from 2025-02-10"],
    "Finally got married last Saturday": ["Maya | be | married | from 2025-02-08"],
    "Got married to Tom in May!": ["Maya | be married to | Tom | from 2024-05-01"],
    "Got diagnosed with asthma last week": ["Maya | be diagnosed with | asthma | from 2025-02-03"],
    "I quit my job at Intel last Friday": ["Maya | leave | Intel | from 2025-02-07"],
    "My brother is marrying a woman called In\u00eas in September": [
        "Maya's brother | marry | In\u00eas | planned | from 2025-09-01"
    ],
    "My last day at Intel is 26 June": ["Maya | work at | Intel | to 2025-06-27"],
    "My last day at Tidepost was 31 January": ["Maya | work at | Tidepost | to 2025-02-01"],
    "My first day at Spotify is 3 March": ["Maya | work at | Spotify | planned | from 2025-03-03"],
    "Today was my last day at Skybet.": ["Maya | work at | Skybet | to 2025-02-12"],
    "It's my last day at Skybet today": ["Maya | work at | Skybet | to 2025-02-12"],
    "It's my very last day at Skybet": ["Maya | work at | Skybet | to 2025-02-12"],
    "Next Friday will be my last day at Skybet": ["Maya | work at | Skybet | to 2025-02-22"],
    "Today is my first day at Monzo": ["Maya | work at | Monzo | from 2025-02-11"],
    "Had my first day at Monzo today": ["Maya | work at | Monzo | from 2025-02-11"],
    "Tomorrow is my first day at Monzo": ["Maya | work at | Monzo | planned | from 2025-02-12"],
    "Last Friday was Tom's last day at Skybet": ["Tom | work at | Skybet | to 2025-02-08"],
    "My birthday is 3 March 1990.": ["Maya | be born on | 3 March 1990"],
    "I'd love to live in Rome": ["Maya | live in | Rome | possible"],
}

MOVES = {
    "I moved from York to Bristol for work": ["Maya | moved from | York", "Maya | moved to | Bristol"],
    "I moved out of Paris and into Lyon": ["Maya | moved from | Paris", "Maya | moved to | Lyon"],
    "We're in the new house in Harrogate now": ["Maya | live in | Harrogate"],
    "We've bought a house in Harrogate": ["Maya | buy | house"],
    "I took the train from Ghent to Lille": ["Maya | go to | Lille"],
}

WORK = {
    "I work as a nurse at St. Antonius hospital": [
        "Maya | work as | nurse",
        "Maya | work at | St. Antonius hospital",
    ],
    "Karl, who works at Siemens in Munich, is my brother.": [
        "Maya | brother | Karl",
        "Karl | work at | Siemens",
        "Karl | work in | Munich",
    ],
    "My brother Karl is great, he's at Bosch in Stuttgart": [
        "Maya | brother | Karl",
        "Karl | work at | Bosch",
        "Karl | be in | Stuttgart",
    ],
    "Stripe hired me!": ["Maya | work at | Stripe"],
    "Google just laid off my sister": ["Maya's sister | be fired from | Google"],
    "I've been at Philips since 2018": ["Maya | work at | Philips | from 2018-01-01"],
    "I'm the new head of data at Picnic": ["Maya | be | new head of data", "Maya | work at | Picnic"],
    "Sophie, my girlfriend, just got promoted to head nurse": [
        "Maya | girlfriend | Sophie",
        "Sophie | be promoted to | head nurse",
    ],
    "I've been promoted to lead engineer": ["Maya | be promoted to | lead engineer"],
    "OMG I've been promoted to lead engineer": ["Maya | be promoted to | lead engineer"],
    "I've just been promoted to team lead at Monzo!": ["Maya | be promoted to | team lead"],
    "Just got promoted to lead engineer!": ["Maya | be promoted to | lead engineer"],
    "I've been promoted to cut costs": [],
    "I've been promoted to lead the team": [],
    "I'd lived in Rome because they have good food.": ["Maya | used to live in | Rome"],
    "I had my last day off at Bosch on Friday.": [],
    "My dad-in-law moved to Rome.": ["Maya's father-in-law | moved to | Rome"],
    "My mother in law moved to Rome.": ["Maya's mother-in-law | moved to | Rome"],
    "Tom told me: my dad moved to Rome.": [],
    "I said: my dad moved to Rome.": ["Maya's father | moved to | Rome"],
    "I finally opened my own bakery, Crumb & Co, on Park Row": ["Maya | open | bakery", "Maya | open | Crumb & Co"],
    "Tom & Ana moved to Leeds": ["Tom | moved to | Leeds", "Ana | moved to | Leeds"],
}

PEOPLE = {
    "My sister Ana is happy. She's dating a guy named Oscar": ["Maya | sister | Ana", "Ana | date | Oscar"],
    "Pilar and her boyfriend Thijs got engaged": ["Pilar | boyfriend | Thijs", "Pilar | be engaged to | Thijs"],
    "Owen and I got married": ["Owen | be married to | Maya"],
    "Tom and I got engaged": ["Tom | be engaged to | Maya"],
    "I've got married": ["Maya | be | married"],
    "I never got married": ["not Maya | be | married"],
    "Guess what, Tom and Ana are engaged": ["Tom | be engaged to | Ana"],
    "Tom and I broke up": ["Tom | be separated from | Maya"],
    "My niece is Fenna, her best friend is a girl called Noor": ["Maya | niece | Fenna", "Fenna | friend | Noor"],
    "Our new neighbours are called Ruth and Sven": ["Maya | neighbour | Ruth", "Maya | neighbour | Sven"],
    "and a cat called Pickle": ["Maya | cat | Pickle"],
    "Ben is called Ben": [],
}

# What is done with things in passing is nothing to know.
PASSING = {
    "I lent Maya's book to Tom": [],
    "we leave the door open": [],
    "60 pages in and I've skipped two meals so yes": [],
    "I left my phone on the bus": [],
    "I'm flying back to Lagos on the 20th": ["Maya | go to | Lagos | planned | from 2025-02-20"],
}

# What did not come about, and what is not said to have.
NOT_SO = {
    "I almost got married last year": [],
    "Tom and I nearly moved to Leeds": [],
    "My dad nearly died": [],
    "I'm almost blind": [],
    "I almost never eat meat": ["not Maya | eat | meat"],
    "I'd have moved to Leeds": [],
    "I'd have been promoted to lead engineer": [],
    "I was told I'd be promoted to lead engineer": [],
    "I get pregnant easily": [],
    "I wish I got married": [],
    "My phone got stolen": [],
    "Today was almost my last day at Skybet": [],
    "Today wasn't my last day at Skybet": [],
    "Today would have been my last day at Skybet": [],
    "Friday was going to be my last day at Skybet": [],
    "Maybe Friday is my last day at Skybet": [],
    "If my last day at Skybet is Friday, fine": [],
    "is today my first day at Monzo": [],
    "It was my last day at Skybet": [],
    "Nervous about tomorrow. It's my first day at Monzo!": [],
    "It was like my first day at Monzo yesterday": [],
    "Today was my first day off at Skybet": [],
    "Today was my last day at school": [],
    "Today was my last day at the beach": [],
    "My last day at Tom's was Friday": [],
}

CLAIMS = {**TIMES, **MOVES, **WORK, **PEOPLE, **PASSING, **NOT_SO}

TYPES = {
    "I drive a Skoda Octavia": "Skoda Octavia/product",
    "I have a Nokia": "Nokia/product",
    "I work at Netflix": "Netflix/organisation",
    "I start at Google on Monday": "Google/organisation",
    "I used to work for Nokia": "Nokia/organisation",
    "She works for Acme Corp.": "Acme Corp./organisation",
    "I bank with Monzo": "Monzo/organisation",
    "Siemens hired my brother": "Siemens/organisation",
    "I'm a doctor at UMCG": "UMCG/organisation",
    "My daughter goes to St Mary's": "St Mary's/organisation",
    "We visit my parents at Easter": "Easter/event",
    "I learn Kubernetes at work": "Kubernetes/other",
    "I moved out of Paris and into Lyon": "Lyon/location",
    "I cycled from Delft to Rotterdam with Noor": "Rotterdam/location",
    "Nadia and I split up in March": "Nadia/person",
    "CTO Maria told me to work harder": "Maria/person",
    "I have an interview at Stripe and Adyen": "Adyen/organisation",
    "I use Spotify every day": "Spotify/product",
    "I drive my old Skoda to work": "Skoda/product",
    "I bought a Skoda": "Skoda/product",
    "I joined Stripe as an engineer": "Stripe/organisation",
    "I joined Adyen": "Adyen/organisation",
    "Bosch hired Tom": "Bosch/organisation",
    "I was hired by Anna Inc.": "Anna Inc./organisation",
}

# What is done with things and by companies is done with and by people too.
PERSONS = {
    "I drove Anna to the airport": "Anna",
    "I drove my brother Tom to work": "Tom",
    "I use Maria as my accountant": "Maria",
    "We have a Max in our class": "Max",
    "I own Bella, a mare": "Bella",
    "I joined Anna for dinner": "Anna",
    "We joined Paul in Rome": "Paul",
    "Tom hired a new gardener": "Tom",
    "Anna hired me": "Anna",
    "I was hired by Anna to paint her fence": "Anna",
    "I played Daniel at chess": "Daniel",
}


def written(claim: Claim) -> str:
    """A claim as the tables write it."""
    parts = [f"{'not ' if claim.negated else ''}{claim.subject} | {claim.predicate} | {claim.object}"]
    parts += [claim.modality] if claim.modality != "asserted" else []
    parts += [f"from {claim.valid_from:%Y-%m-%d}"] if claim.valid_from else []
    parts += [f"to {claim.valid_to:%Y-%m-%d}"] if claim.valid_to else []
    return " | ".join(parts)


@pytest.mark.parametrize("text", CLAIMS)
def test_claims_and_times(read: Read, text: str) -> None:
    """Exactly the claims of the table come out, with their times."""
    assert sorted(map(written, read(text, time=NOW).claims)) == sorted(CLAIMS[text])


@pytest.mark.parametrize("text", TYPES)
def test_types_that_a_sentence_tells(read: Read, text: str) -> None:
    """The name is found whole, and typed by what the sentence says of it."""
    assert TYPES[text] in [f"{span.text}/{span.type}" for span in read(text, time=NOW).entities]


@pytest.mark.parametrize("text", PERSONS)
def test_a_weak_verb_makes_nobody_a_thing(read: Read, text: str) -> None:
    """A name that reads as somebody's stays so, in the text and in what it claims; and nobody works at a person."""
    found = read(text, time=NOW)
    assert f"{PERSONS[text]}/person" in [f"{span.text}/{span.type}" for span in found.entities]
    ends = [
        (end, kind)
        for claim in found.claims
        for end, kind in ((claim.subject, claim.subject_type), (claim.object, claim.object_type))
    ]
    assert {kind for end, kind in ends if end == PERSONS[text]} == {"person"}
    assert not [claim for claim in found.claims if claim.predicate == "work at"]


def test_ends_of_claims_have_the_types_that_claims_teach(read: Read) -> None:
    """A name that no recogniser found is typed by the predicate that leads to it."""
    (claim,) = read("I joined Google last year", time=NOW).claims
    assert (claim.object, claim.object_type) == ("Google", "organisation")


@pytest.mark.parametrize(
    ("text", "name"), [("I bought a Pixel 8", "Pixel 8"), ("We drive a Tesla Model 3 now", "Tesla Model 3")]
)
def test_a_number_is_part_of_a_product(read: Read, text: str, name: str) -> None:
    """The number behind a proper noun is not cut off."""
    assert [claim.object for claim in read(text, time=NOW).claims] == [name]


def test_a_noun_for_a_manner_is_nobody(read: Read) -> None:
    """Grace takes part; "with grace" is how something is done."""
    found = read("She took it with grace.", speaker="Maya", listener="Grace", time=NOW)
    assert [span.text for span in found.entities] == []
