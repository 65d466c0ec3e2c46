"""The words that extraction knows: relations, predicates, and what is noise.

Tables only, and all of our own making. A predicate is canonical when two ways
of saying the same thing give the same one; what is not in a table stays as the
lemmas of its words ("play tennis with" is "play with").
"""

from __future__ import annotations

# --- People and animals by their relation to someone -------------------------

KIN = {
    "mother": "mother", "mom": "mother", "mum": "mother", "mommy": "mother", "mama": "mother", "mummy": "mother",
    "father": "father", "dad": "father", "daddy": "father", "papa": "father", "parent": "parent",
    "parents": "parents", "sister": "sister", "sis": "sister", "brother": "brother", "bro": "brother",
    "sibling": "sibling", "siblings": "siblings", "twin": "twin", "son": "son", "daughter": "daughter",
    "kid": "child", "child": "child", "kids": "children", "children": "children", "baby": "baby", "sons": "sons",
    "daughters": "daughters", "sisters": "sisters", "brothers": "brothers", "husband": "husband",
    "hubby": "husband", "wife": "wife", "spouse": "spouse", "partner": "partner", "fiance": "fiancé",
    "fiancé": "fiancé", "fiancee": "fiancée", "fiancée": "fiancée", "boyfriend": "boyfriend",
    "girlfriend": "girlfriend", "ex": "ex", "ex-husband": "ex-husband", "ex-wife": "ex-wife",
    "ex-boyfriend": "ex-boyfriend", "ex-girlfriend": "ex-girlfriend", "ex-partner": "ex-partner",
    "great-grandmother": "great-grandmother", "great-grandfather": "great-grandfather",
    "half-brother": "half-brother", "half-sister": "half-sister", "step-mother": "stepmother",
    "step-father": "stepfather", "step-son": "stepson", "step-daughter": "stepdaughter", "step-brother": "stepbrother",
    "step-sister": "stepsister", "step-dad": "stepfather", "step-mum": "stepmother", "step-mom": "stepmother",
    "parents-in-law": "parents-in-law", "in-laws": "in-laws", "great-aunt": "great-aunt",
    "great-uncle": "great-uncle",
    "grandmother": "grandmother", "grandma": "grandmother", "granny": "grandmother", "nana": "grandmother",
    "gran": "grandmother", "grandfather": "grandfather", "grandpa": "grandfather", "granddad": "grandfather",
    "grandparents": "grandparents", "grandson": "grandson", "granddaughter": "granddaughter",
    "grandkids": "grandchildren", "grandchildren": "grandchildren", "uncle": "uncle", "aunt": "aunt",
    "auntie": "aunt", "cousin": "cousin", "cousins": "cousins", "nephew": "nephew", "niece": "niece",
    "stepmother": "stepmother", "stepfather": "stepfather", "stepmom": "stepmother", "stepdad": "stepfather",
    "stepson": "stepson", "stepdaughter": "stepdaughter", "stepsister": "stepsister", "stepbrother": "stepbrother",
    "godmother": "godmother", "godfather": "godfather", "mother-in-law": "mother-in-law",
    "father-in-law": "father-in-law", "dad-in-law": "father-in-law", "mum-in-law": "mother-in-law",
    "mom-in-law": "mother-in-law", "sister-in-law": "sister-in-law", "brother-in-law": "brother-in-law",
    "son-in-law": "son-in-law", "daughter-in-law": "daughter-in-law", "mam": "mother", "nan": "grandmother",
    "nani": "grandmother", "oma": "grandmother", "opa": "grandfather", "abuela": "grandmother", "twins": "twins",
    "abuelo": "grandfather", "hubs": "husband", "missus": "wife", "fiancés": "fiancé", "nieces": "nieces",
    "nephews": "nephews", "stepdaughters": "stepdaughters", "uncles": "uncles", "aunts": "aunts",
    "family": "family",
}  # fmt: skip
"""Relatives, as said: as named in a predicate."""

FEMALE = {
    "mother", "sister", "daughter", "wife", "girlfriend", "fiancée", "grandmother", "granddaughter", "aunt", "niece",
    "stepmother", "stepdaughter", "stepsister", "godmother", "mother-in-law", "sister-in-law", "daughter-in-law",
    "ex-wife", "mrs", "ms", "miss", "madam", "lady", "queen", "landlady", "dona", "doña", "señora", "frau", "woman",
    "girl",
}  # fmt: skip
MALE = {
    "father", "brother", "son", "husband", "boyfriend", "fiancé", "grandfather", "grandson", "uncle", "nephew",
    "stepfather", "stepson", "stepbrother", "godfather", "father-in-law", "brother-in-law", "son-in-law",
    "ex-husband", "mr", "sir", "lord", "king", "landlord", "don", "señor", "herr", "man", "boy",
}  # fmt: skip
"""Words for a woman or a man: relations as named in a predicate, and titles."""

PLURAL_KIN = {
    "parents", "siblings", "children", "sons", "daughters", "sisters", "brothers", "grandparents", "grandchildren",
    "cousins", "friends", "roommates", "neighbors", "neighbours", "colleagues", "coworkers", "dogs", "cats", "in-laws",
    "twins",
}  # fmt: skip
"""Relations to many: "they" may stand for one of these."""

PEOPLE = {
    "friend", "friends", "buddy", "pal", "mate", "roommate", "roommates", "flatmate", "housemate", "neighbor",
    "neighbour", "neighbors", "neighbours", "boss", "manager", "supervisor", "colleague", "colleagues", "coworker",
    "co-worker", "coworkers", "teammate", "teammates", "classmate", "classmates", "teacher", "coach", "mentor",
    "tutor", "professor", "student", "students", "doctor", "dentist", "therapist", "landlord", "landlady",
    "client", "nanny", "godson", "goddaughter", "carer", "vet", "lawyer", "gp", "plumber", "accountant", "hairdresser",
    "barber", "babysitter", "trainer", "instructor", "crush", "bestie", "bff",
}  # fmt: skip
"""Other people that one has: the word is the predicate."""

PETS = {
    "dog": "dog", "puppy": "dog", "pup": "dog", "doggo": "dog", "retriever": "dog", "labrador": "dog",
    "poodle": "dog", "beagle": "dog", "bulldog": "dog", "terrier": "dog", "corgi": "dog", "husky": "dog",
    "dachshund": "dog", "shepherd": "dog", "cat": "cat", "kitten": "cat", "kitty": "cat", "horse": "horse",
    "pony": "pony", "rabbit": "rabbit", "bunny": "rabbit", "hamster": "hamster", "parrot": "parrot",
    "turtle": "turtle", "tortoise": "tortoise", "snake": "snake", "lizard": "lizard", "ferret": "ferret",
    "pet": "pet", "dogs": "dogs", "puppies": "dogs", "pups": "dogs", "cats": "cats", "kittens": "cats",
    "pets": "pets", "horses": "horses", "rabbits": "rabbits", "turtles": "turtles", "snakes": "snakes",
}  # fmt: skip
"""Animals that one has, as said: as named in a predicate."""


def relation(noun: str) -> str | None:
    """The predicate that a noun in "my NOUN" makes, or None if it is no person or pet."""
    noun = noun.casefold()
    return KIN.get(noun) or PETS.get(noun) or (noun if noun in PEOPLE else None)


def singular(predicate: str) -> str:
    """The relation to one of many: "children" is "child"."""
    irregular = {"children": "child", "grandchildren": "grandchild"}
    one = irregular.get(predicate) or predicate.removesuffix("s")
    return one if one in irregular.values() or relation(one) else predicate


BIRTHS = {"twins", "triplets", "baby", "son", "daughter", "girl", "boy", "child", "puppies", "kittens"}
"""Whom one has from then on when one "had" them."""


PLANNING = {
    "plan", "want", "intend", "decide", "hope", "need", "have", "aim", "mean", "prepare", "schedule", "arrange",
    "go", "gon", "gonna", "wan", "wanna", "look", "promise", "dream", "long", "wish",
}  # fmt: skip
"""Verbs whose "to VERB" is an intention."""

PLANNING_ADJECTIVES = {"excited", "ready", "about", "set", "due", "eager", "determined", "keen", "happy"}
"""Adjectives whose "to VERB" is an intention ("ready to move")."""

DOING = {"manage", "get", "start", "begin", "continue", "keep", "finish", "happen", "use", "used", "end", "help"}
"""Verbs whose "to VERB" or "VERBing" did take place."""

SUPPOSING = {"think", "believe", "guess", "suppose", "reckon", "feel", "suspect", "bet", "assume", "expect", "seem"}
"""Verbs whose "that ..." is only possible; a "not" on them belongs to the clause."""

REPORTING = {
    "know", "say", "tell", "hear", "see", "realize", "realise", "find", "mention", "remember", "notice", "learn",
    "discover", "announce", "explain", "show", "prove", "love", "hate", "mean", "understand", "admit", "read",
    "recall", "confirm", "be",
}  # fmt: skip
"""Verbs whose "that ..." is taken as said."""

LIKING = {
    "like", "love", "enjoy", "hate", "prefer", "adore", "dislike", "miss", "stop", "quit", "learn", "avoid",
    "start", "practice",
}  # fmt: skip
"""Verbs that take an activity for an object ("love hiking", "quit smoking")."""

SOON = {
    "move", "relocate", "go", "fly", "travel", "visit", "leave", "marry", "return", "come", "retire", "meet",
    "start", "adopt", "get",
    "buy",
}  # fmt: skip
"""Verbs whose present progressive is an arrangement ("I'm moving to Berlin in May")."""

NOT_CLAIMS = {
    "say", "tell", "mean", "guess", "hope", "wish", "wonder", "suppose", "thank", "appreciate", "seem", "sound",
    "happen", "let", "ask", "bet", "think", "feel", "look", "imagine", "pretend", "hear", "matter", "shall", "try",
    "allow", "cause", "know", "believe", "agree", "understand", "see", "keep", "give", "bring", "put", "show",
    "share", "mention", "talk", "recommend", "suggest", "advise", "mind", "remember", "forget", "realize", "help",
    "inspire", "remind", "send", "make", "do",
    "capture", "check", "support", "tag", "surround", "face", "handle", "deal", "welcome", "hit", "congratulate",
    "bless", "find", "end", "turn", "express", "focus", "excite", "live", "stay", "wait", "hold", "notice", "add",
    "set", "figure", "include", "involve", "admire", "be", "spend",
    "lend", "borrow", "skip", "close", "shut", "drop", "grab", "pick", "wash", "clean", "carry", "charge",
    "lift", "press", "plug", "wrap", "load", "empty", "fill", "switch", "return", "hand", "pass", "throw", "pull",
    "push",
}  # fmt: skip
"""Verbs that with a common noun say little that lasts; with a name they do, and are kept."""

SKILLS = {
    "play", "speak", "cook", "swim", "sing", "dance", "drive", "ride", "read", "write", "code", "program", "eat",
    "drink", "stand", "bear", "tolerate", "ski", "surf", "paint", "draw", "fix", "repair", "bake", "knit", "sew",
    "sail", "fly", "understand", "juggle", "skate", "type", "hear", "walk", "digest", "afford",
}  # fmt: skip
"""Verbs whose "can" is an ability; with any other it is politeness or a chance."""

IDLE_ACTIVITIES = {
    "being", "having", "doing", "getting", "going", "seeing", "making", "knowing", "talking", "coming", "be",
    "have", "see", "do", "come", "go", "get", "talk",
}  # fmt: skip
"""Activities that say nothing on their own."""

HYPOTHETICAL_MARKS = {"if", "whether", "unless", "until", "till", "lest", "than", "like"}
"""Conjunctions whose clause, and for "if" and "unless" also the main clause, is no fact."""

DOUBT = {"maybe", "perhaps", "possibly", "probably", "hopefully"}
NEGATIONS = {"not", "n't", "never", "n\u2019t", "no", "nobody", "hardly", "nt"}

# --- Nouns and adjectives ----------------------------------------------------

VAGUE_NOUNS = {
    "thing", "things", "stuff", "lot", "lots", "bit", "way", "ways", "one", "ones", "something", "everything",
    "anything", "nothing", "time", "times", "fun", "kind", "sort", "part", "parts", "idea", "care", "look", "blast",
    "break", "sense", "moment", "moments", "day", "days", "week", "weeks", "month", "months", "year", "years",
    "morning", "night", "evening", "hour", "hours", "minute", "minutes", "while", "chance", "luck", "point", "step",
    "steps", "touch", "rest", "same", "others", "other", "someone", "anyone", "everyone", "nobody", "people",
    "person", "guy", "guys", "place", "hand", "hands", "matter", "fact", "reason", "case", "kinds", "sorts",
    "couple", "ton", "tons", "bunch", "plenty", "number", "word", "words", "vibe", "vibes", "feeling", "feelings",
    "sec", "second", "piece", "stage", "deal", "difference", "change", "changes", "impact", "joy", "love", "hope",
    "support", "happiness", "peace", "strength", "courage", "progress", "energy", "spirit", "eye", "eyes", "heart",
    "mind", "self", "today", "tomorrow", "yesterday", "tonight", "weekend", "more", "much", "many", "enough",
    "less", "most", "some", "any", "all", "both", "each", "few", "little", "half", "advice", "effort", "thought",
    "thoughts", "side", "list", "journey", "experience", "experiences", "opportunity", "gift", "reminder",
    "example", "inspiration", "passion", "sight", "life", "world", "story", "stories", "blessing", "motivation",
    "lol", "lmao", "omg", "haha", "tbh", "what", "course", "addition", "order", "end", "front", "middle", "top",
    "mood", "attention", "memory", "memories", "here", "there", "home", "rough", "spot", "beauty", "issue",
    "issues", "breakthrough", "conversation", "talk", "chat", "future", "past", "present", "sake", "question",
    "questions", "possibility",
}  # fmt: skip
"""Heads of phrases that name nothing."""

PARTITIVES = {"bit", "lot", "lots", "kind", "sort", "couple", "bunch", "ton", "tons", "plenty", "type", "number"}
"""Nouns whose "of" leads to what is meant."""

PRAISE = {
    "great", "good", "amazing", "awesome", "wonderful", "nice", "lovely", "fantastic", "incredible", "beautiful",
    "cool", "perfect", "important", "special", "real", "true", "huge", "big", "tough", "hard", "bad", "terrible",
    "awful", "fun", "lucky", "powerful", "super", "total", "such", "lot", "right", "wrong", "crazy", "inspiring",
    "favorite", "favourite",
}  # fmt: skip
"""With one of these, "is a NOUN" is an opinion and no attribute."""

LASTING = {
    "vegan", "vegetarian", "single", "married", "divorced", "engaged", "pregnant", "retired", "gay", "lesbian",
    "bisexual", "straight", "transgender", "trans", "nonbinary", "non-binary", "widowed", "deaf", "blind",
    "diabetic", "autistic", "left-handed", "unemployed", "self-employed", "dead", "adopted", "bilingual",
    "dyslexic", "asthmatic", "pescatarian", "jewish", "christian", "muslim", "buddhist", "hindu", "catholic",
    "atheist", "religious", "blue", "red", "green", "black", "white", "yellow", "purple", "pink", "orange", "brown",
    "gray", "grey", "sober", "homeless", "lactose-intolerant", "gluten-free", "colorblind", "introverted",
    "extroverted", "allergic",
}  # fmt: skip
"""Adjectives that describe someone for longer than a day."""

BECOMING = {"married", "divorced", "engaged", "pregnant", "sober"}
"""Of these, what one "gets", and is from then on."""

DISPOSITIONS = {
    "allergic", "intolerant", "sensitive", "afraid", "mad", "scared", "terrified", "fond", "keen", "interested",
    "passionate", "crazy", "obsessed", "addicted", "fluent", "related", "married", "engaged", "divorced", "born",
    "good", "bad", "terrible", "familiar", "responsible", "loyal", "sick", "tired", "jealous", "immune", "vaccinated",
    "native", "active",
}  # fmt: skip
"""Adjectives that with a preposition ("afraid of spiders") say what lasts."""

TIME_NOUNS = {
    "morning", "afternoon", "evening", "night", "day", "week", "month", "year", "weekend", "hour", "minute",
    "moment", "summer", "winter", "spring", "autumn", "fall", "days", "weeks", "months", "years", "hours",
    "minutes", "while", "birthday", "age", "past", "future", "meantime", "first", "last", "now", "ages", "monday",
    "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march", "april",
    "june", "july", "august", "september", "october", "november", "december", "christmas", "easter", "once",
    "decade", "twenties", "thirties", "forties", "fifties", "teens", "childhood", "youth", "noon", "midnight",
}  # fmt: skip
"""Heads of phrases that say when."""

ARGUMENT_PREPOSITIONS = {
    "to", "in", "at", "for", "from", "with", "on", "about", "into", "of", "as", "near", "against", "under",
    "around", "through", "by", "over", "across", "onto", "towards", "toward", "without", "beside",
    "behind",
}  # fmt: skip
"""Prepositions that join a verb to what it is about."""

NOT_NAMES = {
    "hey", "hi", "hello", "wow", "yeah", "yay", "yes", "yep", "yup", "nope", "no", "omg", "lol", "lmao", "haha",
    "hahaha", "hehe", "btw", "idk", "tbh", "imo", "ok", "okay", "oh", "ooh", "aww", "aw", "ugh", "hmm", "hm", "um",
    "uh", "well", "thanks", "thank", "thx", "ty", "congrats", "congratulations", "cheers", "bye", "goodbye",
    "please", "pls", "sorry", "sure", "absolutely", "definitely", "totally", "exactly", "cool", "nice", "great",
    "awesome", "amazing", "love", "loved", "glad", "good", "happy", "dude", "bro", "sis", "man", "guys", "girl",
    "babe", "buddy", "honey", "dear", "mom", "mum", "dad", "mommy", "daddy", "grandma", "grandpa", "mama", "papa",
    "gosh", "god", "damn", "dang", "whoa", "woah", "yikes", "oops", "appreciate", "keep", "hope", "can't", "cant",
    "gonna", "wanna", "got", "check", "sounds", "remember", "like", "pic", "pics", "photo", "rip", "fyi", "asap",
    "dm", "lmk", "brb", "ikr", "smh", "fr", "ngl", "woohoo", "woo", "hoo", "sup", "yo", "ha", "wait", "good luck",
    "way", "haven", "take care", "self", "check out", "ahoy", "welcome", "sweet", "right", "true", "tysm", "hooray",
    "user", "assistant", "image", "video", "tues", "thurs", "mon", "wed", "fri", "nature", "music", "yoga", "art",
    "reading", "family", "ai", "tv", "diy", "pc", "pt", "bbq", "dj", "ceo", "cto", "cfo", "coo",
    "cmo", "vp", "phd", "gps", "faq", "url", "id", "vip",
    "rv", "pr", "wtf", "omfg", "holy",
}  # fmt: skip
"""What a tagger trained on newswire takes for a name in a chat, and is none."""

INSTITUTIONS = {
    "hospital", "clinic", "school", "university", "college", "kindergarten", "nursery", "grade", "office", "bank",
    "company", "firm", "library", "museum", "restaurant", "cafe", "café", "bakery", "charity", "lab", "laboratory",
    "agency", "studio", "shop", "store", "bookshop", "pharmacy", "factory", "plant", "farm", "army", "navy", "police",
    "startup", "practice", "hotel", "gym", "newspaper", "magazine", "church", "prison", "jail", "band", "choir",
    "team", "orchestra", "village", "town", "city", "suburb", "countryside", "mountains", "centre", "center", "year",
    "form", "class",
}  # fmt: skip
"""Common nouns for places where one works, studies, lives or is kept."""

DWELLINGS = {"house", "flat", "apartment", "cottage", "bungalow", "condo", "home", "place", "studio"}
"""Where one lives."""

SOMEBODY = {
    "guy", "girl", "boy", "man", "woman", "person", "lady", "bloke", "lad", "chap", "fellow", "dude", "someone",
    "somebody",
}  # fmt: skip
"""Nouns that say of somebody no more than that; what they are called is who is meant."""

WHEREABOUTS = {"from", "into", "in", "at", "to", "with", "on", "near", "outside"}
"""Prepositions after "is" that may say where somebody or something is, belongs or comes from."""

DIRECTIONS = {"back", "over", "out", "away", "here", "down", "up", "home", "off", "abroad"}
"""Adverbs on which the preposition of a move hangs: "moved back to"."""

PLACED = {
    "live": {"in", "at", "on", "with", "near", "by", "outside", "around", "under", "behind", "beside"},
    "go": {"to", "with", "by"},
    "come": {"from", "to"},
}  # fmt: skip
"""The prepositions that a verb of place takes; others lead to something else."""

STRIVING = {"work", "look", "apply", "vote", "care", "search", "play", "train", "study", "pay", "volunteer", "race"}
"""Verbs whose "for" is about their object."""

ANNIVERSARIES = {"birthday", "anniversary", "wedding", "exam", "appointment", "flight"}
"""What is on a day that is worth remembering."""

ELIDED = {
    "gon", "going", "moving", "starting", "planning", "thinking", "working", "living", "studying", "learning",
    "getting", "visiting", "flying", "travelling", "traveling", "leaving", "considering", "hoping", "looking",
    "training", "teaching", "staying",
}  # fmt: skip
"""Verbs that open a sentence for "I am ...": "Gonna move", "Starting at Bosch in May"."""

ASSISTANTS = {"assistant", "ai", "bot", "system"}
"""Speakers who have no life of their own: what they say of themselves is about their work on an answer."""

DRAFTS = {
    "paragraph", "paragraphs", "sentence", "sentences", "draft", "drafts", "wording", "tone", "version", "heading",
    "headings", "typo", "typos", "bullet", "bullets", "phrasing", "summary", "intro", "introduction", "conclusion",
    "title", "subject", "snippet", "function", "code", "query", "script", "bug", "comma", "text", "paragraphing",
    "reply", "answer", "response", "outline", "section", "sections", "table", "spreadsheet", "document", "file",
}  # fmt: skip
"""Parts of a text or a program that a conversation works on."""

PRONOUNS = frozenset(
    """
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves this that these those who whom whose which what
    someone somebody anyone anybody everyone everybody nobody something anything everything nothing one
    """.split()  # noqa: SIM905 - one word after another reads best
)
"""Words that name nobody and nothing by themselves."""
