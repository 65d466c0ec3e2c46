"""The words that `mending` puts right, and those it puts in their place."""

from __future__ import annotations

from .vocabulary import DISPOSITIONS, KIN, PEOPLE, PETS

CONTRACTIONS = {
    "i": "I", "im": "I'm", "i'm": "I'm", "ive": "I've", "i've": "I've", "i'd": "I'd", "i'll": "I'll", "hes": "he's",
    "shes": "she's", "theyre": "they're", "theyve": "they've", "weve": "we've", "youre": "you're", "youve": "you've",
    "thats": "that's", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "isnt": "isn't", "arent": "aren't",
    "wasnt": "wasn't", "werent": "weren't", "cant": "can't", "wont": "won't", "havent": "haven't", "hasnt": "hasn't",
    "hadnt": "hadn't", "couldnt": "couldn't", "wouldnt": "wouldn't", "shouldnt": "shouldn't", "u": "you",
    "ur": "your", "bf": "boyfriend", "gf": "girlfriend", "bday": "birthday", "teh": "the", "hte": "the", "adn": "and",
    "nad": "and", "fo": "of", "ot": "to", "wsa": "was", "si": "is", "ym": "my", "hsa": "has", "owrk": "work",
    "owrks": "works", "ahve": "have", "ehr": "her", "hsi": "his", "fro": "for", "thier": "their", "cuz": "because",
    "bc": "because", "coz": "because", "w/": "with", "hav": "have", "liv": "live", "wrk": "work", "luv": "love",
    "abt": "about", "frm": "from", "wrok": "work",
    "wroks": "works", "agian": "again", "alot": "a lot", "aswell": "as well", "tho": "though", "rly": "really",
    "ppl": "people", "tmrw": "tomorrow", "yr": "year", "yrs": "years", "thx": "thanks", "evry": "every", "thru":
    "through",
}  # fmt: skip
"""Words typed without their apostrophe, short slips and chat's short forms, in lower case: as meant."""

_VERBS = {
    "live", "lives", "lived", "living", "work", "works", "worked", "working", "move", "moved", "moving", "love",
    "loves", "loved", "like", "likes", "liked", "hate", "hates", "hated", "enjoy", "enjoys", "enjoyed", "prefer",
    "prefers", "have", "having", "been", "were", "went", "going", "want", "wants", "wanted", "plan", "plans",
    "planning", "start", "starts", "started", "starting", "study", "studies", "studied", "studying", "teach",
    "teaches", "taught", "teaching", "speak", "speaks", "spoke", "speaking", "play", "plays", "played", "playing",
    "bought", "sold", "adopt", "adopted", "adopting", "marry", "married", "marrying", "divorced", "engaged", "died",
    "passed", "born", "raised", "grew", "visit", "visits", "visited", "visiting", "travel", "traveling", "travelling",
    "quit", "quits", "quitting", "leave", "leaves", "leaving", "left", "join", "joined", "joins", "joining", "named",
    "called", "know", "knows", "known", "said", "says", "told", "think", "thinks", "thought", "thinking", "become",
    "became", "retire", "retired", "retiring", "drive", "drives", "drove", "cook", "cooks", "learn", "learning",
    "learns", "learned", "drink", "drinks", "eats", "eating", "using", "used", "promoted", "hired",
    "fired", "getting", "would", "could", "should", "writes", "reads", "build", "builds", "built", "owns", "owned",
}  # fmt: skip
_FUNCTION = {
    "with", "from", "that", "this", "they", "their", "them", "there", "then", "than", "when", "where", "which",
    "while", "because", "before", "after", "since", "until", "about", "around", "also", "always", "never", "still",
    "really", "very", "just", "only", "anymore", "another", "both", "some", "every", "last", "next", "year", "years",
    "month", "months", "week", "weeks", "yesterday", "today", "tomorrow", "tonight", "weekend", "morning", "evening",
    "january", "february", "march", "april", "june", "july", "august", "september", "october", "november",
    "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "your", "mine",
    "favorite", "favourite", "allergic", "birthday", "engineer", "nurse", "restaurant", "apartment", "company",
    "school", "university", "hospital", "language", "languages", "chocolate", "vegetarian", "vegan", "different",
    "together", "people", "believe", "believes", "friend", "cheese", "doctor", "teacher", "lawyer", "student",
    "breakfast",
    "dinner", "chicken", "vegetables", "strawberries", "tomatoes", "potatoes", "running", "swimming", "reading",
    "cooking", "hiking", "football", "tennis", "basketball", "violin", "french", "spanish", "german", "italian",
    "chinese", "english", "house", "flat", "garden", "kitchen", "library", "business", "college", "country", "village",
    "holiday", "vacation", "wedding", "family", "brown", "green", "little", "small", "first", "second", "third",
    "three", "four", "five", "seven", "eight", "twenty", "hundred", "near", "beach", "mountain", "mountains", "music",
    "movies", "books", "painting", "dancing", "exam", "appointment", "surgery", "diabetes", "gluten", "lactose",
    "intolerant", "married", "pregnant", "retired", "single", "happy", "terrible", "awful", "amazing", "beautiful",
    "remember", "shellfish", "peanuts", "coffee", "guitar", "piano", "definitely",
}  # fmt: skip

RESTED_ON = tuple(sorted({*KIN, *PETS, *PEOPLE, *_VERBS, *_FUNCTION, *DISPOSITIONS}))
"""Words that a claim may hang on: a slip in one of them costs the claim."""
