"""What is read from messages, by example, on the real model.

A claim is written "subject | predicate | object", with "not" before what is
denied, and "planned" or "possible" after it. The claims of a message are all
that is written: more is as wrong as less. Entities are "text/type".
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from seedbed_server.models.contract import Claim

from .conftest import Read

PRONOUNS = {
    "i", "me", "my", "mine", "myself", "you", "your", "yours", "he", "him", "his", "she", "her", "hers", "it", "its",
    "we", "us", "our", "they", "them", "their", "this", "that", "these", "those", "who", "whom", "what", "which",
    "someone", "something", "anyone", "everyone", "nobody", "everybody",
}  # fmt: skip

# Who did what: first person, names, past, prepositions, particles.
STATEMENTS = {
    "I moved to Berlin last May.": ["Maya | moved to | Berlin"],
    "Moved to Berlin last week!": ["Maya | moved to | Berlin"],
    "I was born in Madrid.": ["Maya | be born in | Madrid"],
    "I grew up in a small town in Ohio.": ["Maya | grow up in | small town", "Maya | grow up in | Ohio"],
    "I've been working for Google since 2019.": ["Maya | work at | Google"],
    "I got a new job at Google!": ["Maya | work at | Google"],
    "I quit my job at Intel last week.": ["Maya | leave | Intel"],
    "I became a chef in 2015.": ["Maya | become | chef"],
    "I gave up smoking.": ["Maya | give up | smoking"],
    "I married Daniel in 2010.": ["Maya | marry | Daniel"],
    "I visited Kyoto and Osaka with my dad.": [
        "Maya | visit | Kyoto",
        "Maya | visit | Osaka",
        "Maya | visit with | Maya's father",
    ],
    "I play tennis with Ana on Sundays.": ["Maya | play | tennis", "Maya | play with | Ana"],
    "I sold my car to Pete.": ["Maya | sell | car", "Maya | sell to | Pete"],
    "I've been to Peru twice.": ["Maya | go to | Peru"],
    "I drive a Toyota.": ["Maya | drive | Toyota"],
    "I heard that Tom moved to Rome.": ["Tom | moved to | Rome"],
    "Where did Tom go? Tom went to Lima.": ["Tom | go to | Lima"],
    "Elena and Marco live in Rome.": ["Elena | live in | Rome", "Marco | live in | Rome"],
    "He told me that Elena lives in Rome.": ["Elena | live in | Rome"],
    "I can play the violin.": ["Maya | can play | violin"],
}

# What somebody is, has and likes.
STATES = {
    "I am a nurse and I love hiking and swimming.": [
        "Maya | be | nurse",
        "Maya | love | hiking",
        "Maya | love | swimming",
    ],
    "I'm a software engineer at Google.": ["Maya | be | software engineer", "Maya | work at | Google"],
    "I work as a nurse at Mercy Hospital in Denver.": ["Maya | work as | nurse", "Maya | work at | Mercy Hospital"],
    "My dad is a retired carpenter.": ["Maya's father | be | retired carpenter"],
    "I'm vegan.": ["Maya | be | vegan"],
    "I'm Jewish.": ["Maya | be | Jewish"],
    "I am 34 years old.": ["Maya | be | 34 years old"],
    "I am married to Daniel.": ["Maya | be married to | Daniel"],
    "I'm allergic to peanuts.": ["Maya | be allergic to | peanuts"],
    "My parents are from Ghana.": ["Maya's parents | be from | Ghana"],
    "I've got two brothers.": ["Maya | have | two brothers"],
    "My favorite color is blue.": ["Maya | favorite color | blue"],
    "My favourite band is Radiohead.": ["Maya | favorite band | Radiohead"],
    "My birthday is May 5th.": ["Maya | birthday | May 5th"],
    "I hate cilantro but I love basil.": ["Maya | hate | cilantro", "Maya | love | basil"],
    "I'm a huge fan of jazz.": ["Maya | like | jazz"],
    "I love to paint landscapes.": ["Maya | love | paint landscapes"],
    "I started taking pottery classes.": ["Maya | take | pottery classes"],
    "My grandmother died last year.": ["Maya's grandmother | be | dead"],
    "I'm engaged!": ["Maya | be | engaged"],
}

# What was so and is no more must not read as if it were.
PAST = {
    "I used to live in Oslo.": ["Maya | used to live in | Oslo"],
    "I lived in Oslo for three years.": ["Maya | used to live in | Oslo"],
    "I was a teacher before I became a chef.": ["Maya | used to be | teacher", "Maya | become | chef"],
    "I studied biology at Stanford.": ["Maya | study | biology", "Maya | used to study at | Stanford"],
    "I had a boat.": ["Maya | had | boat"],
}

RELATIONS = {
    "My sister Elena works at Siemens as an engineer.": [
        "Maya | sister | Elena",
        "Elena | work at | Siemens",
        "Elena | work as | engineer",
    ],
    "Elena is my sister.": ["Maya | sister | Elena"],
    "Elena isn't my sister.": ["not Maya | sister | Elena"],
    "My mom's name is Rosa.": ["Maya | mother | Rosa"],
    "My cat is called Milo.": ["Maya | cat | Milo"],
    "I have two cats and a dog named Biscuit.": [
        "Maya | dog | Biscuit",
        "Maya | have | two cats",
        "Maya | have | dog",
    ],
    "Elena's husband Marco is a pilot.": ["Elena | husband | Marco", "Marco | be | pilot"],
    "I met my girlfriend Priya in college.": ["Maya | girlfriend | Priya", "Maya | meet | Priya"],
    "This is my friend Bob.": ["Maya | friend | Bob"],
    "Zoe, my best friend, lives in Lyon.": ["Maya | friend | Zoe", "Zoe | live in | Lyon"],
    "Your dog Rex is so cute!": ["Sam | dog | Rex"],
    "My sister lives in Toronto and works as a teacher.": [
        "Maya's sister | live in | Toronto",
        "Maya's sister | work as | teacher",
    ],
    "Sam's brother works at IKEA.": ["Sam's brother | work at | IKEA"],
}

SECOND_PERSON = {
    "You work at Google.": ["Sam | work at | Google"],
    "You said you work at Spotify.": ["Sam | work at | Spotify"],
    "I love your dog Rex.": ["Sam | dog | Rex", "Maya | love | Rex"],
    "Thanks Sam!! You're the best.": [],
    "You should visit Rome.": [],
}

DENIED = {
    "I don't like mushrooms anymore.": ["not Maya | like | mushrooms"],
    "Who, me? I never drink coffee.": ["not Maya | drink | coffee"],
    "I have no siblings.": ["not Maya | have | siblings"],
    "I no longer work at Intel.": ["not Maya | work at | Intel"],
    "I'm not a vegetarian.": ["not Maya | be | vegetarian"],
    "I can't stand olives.": ["not Maya | like | olives"],
    "I didn't move to Berlin after all.": ["not Maya | moved to | Berlin"],
    "Tom doesn't eat meat or fish.": ["not Tom | eat | meat", "not Tom | eat | fish"],
    "Neither Tom nor Ana likes jazz.": ["not Tom | like | jazz", "not Ana | like | jazz"],
    "I don't think Bob likes opera.": ["not Bob | like | opera | possible"],
}

INTENDED = {
    "I'm going to visit Rome in June.": ["Maya | visit | Rome | planned"],
    "I want to buy a car.": ["Maya | buy | car | planned"],
    "I wanna learn Spanish.": ["Maya | learn | Spanish | planned"],
    "I'd love to visit Japan someday.": ["Maya | visit | Japan | possible"],
    "I'm gonna sell my house and move to Lisbon.": [
        "Maya | sell | house | planned",
        "Maya | moved to | Lisbon | planned",
    ],
    "I'm planning to go to Japan with Anna.": ["Maya | go to | Japan | planned", "Maya | go with | Anna | planned"],
    "We're moving to Austin in March!": ["Maya | moved to | Austin | planned"],
    "We're getting married in October!": ["Maya | be | married | planned"],
    "I might move to Lisbon next year.": ["Maya | moved to | Lisbon | possible"],
    "I could buy a boat.": ["Maya | buy | boat | possible"],
    "I think Maria is moving to Spain.": ["Maria | moved to | Spain | possible"],
    "I'm thinking about moving to Canada.": ["Maya | moved to | Canada | possible"],
}

# Questions, conditions, wishes, orders, quotations, unresolved pronouns, small talk.
NOTHING = [
    "Do you live in Paris?",
    "do you like tom",
    "Who moved to Berlin?",
    "What if I moved to Rome?",
    "If I lived in Rome, I would eat pasta every day.",
    "I'd move to Rome if I could.",
    "I wonder if Maria lives in Rome.",
    "I wish I had a boat.",
    "I hope Maria gets the job.",
    "If you visit Lisbon, try the pastries.",
    "Let's go to Rome!",
    'Tom said "I live in Rome".',
    "She lives in Rome.",
    "Oh great, another Monday. I just LOVE being woken up by drilling.",
    "Because obviously I have ten thousand dollars.",
    "Suppose Karl worked at Shell.",
    "I cut the second paragraph and softened the tone.",
    "You could visit the museum in Basel.",
    "You have to meet Xiulan.",
    "He loves Rome and she loves Paris.",
    "They gave Elena a book.",
    "It's my favorite movie.",
    "Nobody likes Bob.",
    "We went home and there was a nerd at the door.",
    "Love your new haircut!",
    "Thanks, Sam! That was fun.",
    "> I live in Rome",
    "[shares image: Maya moved to Berlin]",
    "```\nMaya moved to Berlin\n```",
    "",
    "🔥🔥🔥",
]

NAMED = {
    "Sam at the office gave me a book.": ["Sam/person"],
    "My boss, Mr. Smith, hates Mondays.": ["Mr. Smith/person", "Mondays/date"],
    "Hey Sam, I moved to Chicago 😂": ["Sam/person", "Chicago/location"],
    "My mom's name is Rosa.": ["Rosa/person"],
    "I have a dog named Biscuit.": ["Biscuit/other"],
    "Maya's cake was better than Elena's.": ["Maya/person", "Elena/person"],
    "My sister and her friend came over, it was lovely.": [],
    "We're moving to Austin in March!": ["Austin/location", "March/date"],
    "I am married to Daniel.": ["Daniel/person"],
    "Love your new haircut!": [],
    "I love the Netherlands and the Alps.": ["Netherlands/location", "Alps/location"],
    "My name is Maya Lopez.": ["Maya Lopez/person"],
    "OMG wow yeah haha Sooo good": [],
    "I started a new job at Shopify on Monday.": ["Shopify/organisation", "Monday/date"],
}

# Whom a pronoun stands for, if only one fits.
RESOLVED = {
    "Karim called. He's moving to Doha because his wife got a job at Nokia.": [
        "Karim | moved to | Doha | planned",
        "Karim's wife | work at | Nokia",
    ],
    "My mother-in-law adores Lars, but he can't stand her.": [
        "Maya's mother-in-law | love | Lars",
        "not Lars | like | Maya's mother-in-law",
    ],
    "My parents sold their house and they live in Spain now.": [
        "Maya's parents | sell | house",
        "Maya's parents | live in | Spain",
    ],
    "Jonas has a motorbike. He bought it in 2020.": ["Jonas | have | motorbike", "Jonas | buy | motorbike"],
    "Noah is my nephew, he's 4 and he loves trains.": ["Maya | nephew | Noah", "Noah | love | trains"],
    "Tom met Ben. He lives in Rome.": ["Tom | meet | Ben"],
    "My uncle's wife Berta is a dentist.": ["Maya's uncle | wife | Berta", "Berta | be | dentist"],
    "My teacher, Mr. Novak, is from Prague.": ["Maya | teacher | Mr. Novak", "Mr. Novak | be from | Prague"],
}

# What is said of two, of another than the one who acts, or by repeating half of a clause.
TURNED = {
    "Tom and Lena moved to Berlin and Oslo respectively.": ["Tom | moved to | Berlin", "Lena | moved to | Oslo"],
    "Tom and Lena are siblings.": ["Tom | sibling | Lena"],
    "Peter and Jana have been married for 20 years.": ["Peter | be married to | Jana"],
    "My wife likes opera but I don't.": ["Maya's wife | like | opera", "not Maya | like | opera"],
    "I'm allergic to cats and so is my daughter.": [
        "Maya | be allergic to | cats",
        "Maya's daughter | be allergic to | cats",
    ],
    "I lost my dad in 2015.": ["Maya's father | be | dead"],
    "My sister changed her name to Skye.": ["Maya's sister | be called | Skye"],
    "I can play the drums and the bass, but not the guitar.": [
        "Maya | can play | drums",
        "Maya | can play | bass",
        "not Maya | can play | guitar",
    ],
    "Neither my brother nor my sister eats fish.": [
        "not Maya's brother | eat | fish",
        "not Maya's sister | eat | fish",
    ],
    "My mum and dad live in Kent and run a pub.": [
        "Maya's mother | live in | Kent",
        "Maya's father | live in | Kent",
        "Maya's mother | run | pub",
        "Maya's father | run | pub",
    ],
    "Our neighbours, Karl and Inge, have three dogs.": [
        "Maya | neighbour | Karl",
        "Maya | neighbour | Inge",
        "Karl | have | three dogs",
        "Inge | have | three dogs",
    ],
    "My ex-husband lives in Perth now.": ["Maya's ex-husband | live in | Perth"],
    "My parents moved back to Poland in 2005.": ["Maya's parents | moved to | Poland"],
}

# As it is typed.
TYPED = {
    "im a vegeterian": ["Maya | be | vegetarian"],
    "my husbnad is a docter and he lvoes cycling": ["Maya's husband | be | doctor", "Maya's husband | love | cycling"],
    "My wfie Layla is form Beirut": ["Maya | wife | Layla", "Layla | be from | Beirut"],
    "Not a fan of horror movies tbh.": ["not Maya | like | horror movies"],
}

STATED = {
    **RESOLVED,
    **TURNED,
    **TYPED,
    **STATEMENTS,
    **STATES,
    **PAST,
    **RELATIONS,
    **SECOND_PERSON,
    **DENIED,
    **INTENDED,
}
CLAIMS: dict[str, list[str]] = {**STATED, **{text: [] for text in NOTHING}}


def written(claim: Claim) -> str:
    """A claim as the tables write it."""
    line = f"{claim.subject} | {claim.predicate} | {claim.object}"
    line = f"not {line}" if claim.negated else line
    return line if claim.modality == "asserted" else f"{line} | {claim.modality}"


@pytest.mark.parametrize("text", CLAIMS)
def test_claims_of_a_message(read: Read, text: str) -> None:
    """Exactly the claims of the table come out."""
    assert sorted(map(written, read(text).claims)) == sorted(CLAIMS[text])


@pytest.mark.parametrize("text", NAMED)
def test_names_in_a_message(read: Read, text: str) -> None:
    """Exactly the names of the table come out, trimmed to the name."""
    assert [f"{span.text}/{span.type}" for span in read(text).entities] == NAMED[text]


@pytest.mark.parametrize("text", [*CLAIMS, *NAMED])
def test_no_pronoun_is_an_end_of_a_claim_or_an_entity(read: Read, text: str) -> None:
    """Neither ends nor entities are pronouns, and spans are where they say."""
    found = read(text)
    for claim in found.claims:
        assert claim.subject.casefold() not in PRONOUNS
        assert claim.object.casefold() not in PRONOUNS
        assert len(claim.object.split()) <= 8
    for span in found.entities:
        assert span.text.casefold() not in PRONOUNS
        assert text[span.start : span.end] == span.text


def test_surface_is_the_clause(read: Read) -> None:
    """The surface is the clause's own words, with its date, and no other clause's."""
    claims = read("I moved to Berlin last May and my sister lives in Rome.").claims
    assert [claim.surface for claim in claims] == ["I moved to Berlin last May", "my sister lives in Rome"]


DATED = {
    "I've been working at Lenovo since 2019.": ("2019-01-01", None),
    "My brother is in Dakar until June.": (None, "2026-06-01"),
    "I'm staying in Vienna until the end of April.": (None, "2026-05-01"),
    "Between 2014 and 2018 I lived in Lviv.": ("2014-01-01", "2018-01-01"),
    "I lived in Oslo in 2015.": ("2015-01-01", "2016-01-01"),
    "Dad has been married to Ulla for ten years.": ("2016-01-01", None),
    "I moved to Oslo last week.": ("2026-03-09", None),
    "My grandmother died in November.": ("2025-11-01", None),
    "I'll visit Kyoto in November.": ("2026-11-01", None),
    "I live in Rome.": (None, None),
}


@pytest.mark.parametrize("text", DATED)
def test_a_claim_holds_when_its_words_say(read: Read, text: str) -> None:
    """Times are resolved against the time of the message, and open or close what they modify."""
    (claim,) = read(text, time=datetime(2026, 3, 18, 12, tzinfo=UTC)).claims
    days = tuple(None if time is None else f"{time:%Y-%m-%d}" for time in (claim.valid_from, claim.valid_to))
    assert days == DATED[text]


def test_each_clause_has_its_own_time(read: Read) -> None:
    """What happened at two times is not told of one."""
    claims = read(
        "We bought the farm in 2011 and sold it two years ago.", time=datetime(2026, 3, 18, tzinfo=UTC)
    ).claims
    assert [claim.valid_from.year for claim in claims if claim.valid_from] == [2011, 2024]


def test_without_a_time_nothing_is_resolved(read: Read) -> None:
    """A message of no known time dates nothing."""
    (claim,) = read("I moved to Oslo last week.").claims
    assert claim.valid_from is None


def test_types_of_the_ends(read: Read) -> None:
    """Ends carry the type of the name that they are."""
    (claim,) = read("You work at Google.").claims
    assert (claim.subject_type, claim.object_type) == ("person", "organisation")


def test_unknown_speaker_claims_nothing(read: Read) -> None:
    """Without a speaker and a listener, "I" and "you" are nobody."""
    assert read("I moved to Berlin and you live in Paris.", speaker="", listener="").claims == ()


def test_speaker_is_whoever_speaks(read: Read) -> None:
    """The same words said by another are another's claim."""
    (claim,) = read("I love your garden.", speaker="Žižek", listener="D'Arcy").claims
    assert (claim.subject, claim.object) == ("Žižek", "D'Arcy's garden")


def test_speakers_names_are_found_by_exact_match(read: Read) -> None:
    """Names that no recogniser knows are found if somebody of the conversation has them, and only whole."""
    found = read("Did Xqz call xqzabc? Xqz's phone is off.", speaker="Xqz")
    assert [(s.text, s.start) for s in found.entities if s.type == "person"] == [("Xqz", 4), ("Xqz", 21)]


def test_offsets_count_code_points(read: Read) -> None:
    """Emoji before a name move it by their code points, joiners included."""
    text = "👨\u200d👩\u200d👧 🔥🔥🔥🔥🔥🔥🔥 We flew to Tokyo!!!!!!!! Then my friend Bob left Berlin."
    spans = {span.text: (span.start, span.end) for span in read(text).entities}
    assert spans["Tokyo"] == (text.index("Tokyo"), text.index("Tokyo") + 5)
    assert spans["Berlin"] == (text.index("Berlin"), text.index("Berlin") + 6)
