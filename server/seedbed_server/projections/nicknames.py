"""Short forms of English first names that are heard often, and the names that they stand for; of our own making."""

from __future__ import annotations

_SHORT = {
    "abby": "abigail", "al": "albert alan alfred", "alex": "alexander alexandra alexis", "andy": "andrew",
    "angie": "angela", "annie": "anne anna", "barb": "barbara", "becca": "rebecca", "becky": "rebecca",
    "ben": "benjamin", "bert": "albert robert herbert", "bess": "elizabeth", "beth": "elizabeth bethany",
    "betsy": "elizabeth", "betty": "elizabeth", "bill": "william", "billy": "william", "bob": "robert",
    "bobby": "robert", "brad": "bradley", "cathy": "catherine kathleen", "charlie": "charles charlotte",
    "chris": "christopher christine christina christian", "cindy": "cynthia", "dan": "daniel", "danny": "daniel",
    "dave": "david", "deb": "deborah", "debbie": "deborah", "dick": "richard", "don": "donald", "drew": "andrew",
    "ed": "edward edwin edgar", "eddie": "edward", "ellie": "eleanor ellen", "flo": "florence",
    "fran": "frances francis", "frank": "francis franklin", "fred": "frederick", "gabe": "gabriel",
    "gabi": "gabriela gabrielle", "gus": "augustus gustav", "hank": "henry", "harry": "harold henry",
    "jack": "john jackson", "jake": "jacob", "jeff": "jeffrey geoffrey", "jen": "jennifer", "jenny": "jennifer",
    "jerry": "gerald jerome", "jess": "jessica", "jim": "james", "jimmy": "james", "jo": "joanna josephine joanne",
    "joe": "joseph", "joey": "joseph", "johnny": "john", "jon": "jonathan", "josh": "joshua",
    "kate": "katherine catherine kathryn katharine", "kathy": "katherine catherine kathleen kathryn",
    "katie": "katherine catherine kathryn", "ken": "kenneth", "kim": "kimberly", "larry": "lawrence laurence",
    "lenny": "leonard", "leo": "leonard leonardo leopold", "lexi": "alexandra alexis", "liz": "elizabeth",
    "lizzie": "elizabeth", "lou": "louis louise", "maggie": "margaret", "mandy": "amanda", "matt": "matthew",
    "max": "maximilian maxwell maxine", "meg": "megan margaret", "mel": "melanie melissa melvin", "mia": "maria",
    "mick": "michael", "mike": "michael", "mickey": "michael", "molly": "mary", "nate": "nathan nathaniel",
    "ned": "edward", "nick": "nicholas nicolas dominic", "nicky": "nicholas nicole", "pam": "pamela",
    "pat": "patrick patricia", "patty": "patricia", "peggy": "margaret", "pete": "peter", "phil": "philip phillip",
    "ray": "raymond", "rich": "richard", "rick": "richard frederick", "rob": "robert", "ron": "ronald",
    "sally": "sarah", "sam": "samantha samuel samson", "sandy": "sandra alexander", "steph": "stephanie",
    "steve": "steven stephen", "stu": "stuart stewart", "sue": "susan suzanne", "susie": "susan suzanne",
    "ted": "theodore edward", "terry": "terence theresa", "theo": "theodore", "tim": "timothy", "tina": "christina",
    "tom": "thomas", "tommy": "thomas", "tony": "anthony antonio", "tori": "victoria", "vicky": "victoria",
    "vince": "vincent", "wes": "wesley", "will": "william", "zach": "zachary",
}  # fmt: skip

FULL = {short: frozenset(full.split()) for short, full in _SHORT.items()}
"""A short form, in lower case: the names that it may stand for."""

INVOLVED = frozenset(FULL) | frozenset(name for full in FULL.values() for name in full)
"""Every name of the table."""

NAMES_THEMSELVES = frozenset(
    """
    angie annie billy dick don drew fran frank gabi harry jack jerry jess johnny kim larry leo lexi lou mel mia mick
    molly nicky ray rich rick sally sandy susie terry theo tina tommy vince wes
    """.split()  # noqa: SIM905 - one word after another reads best
)
"""Short forms that many are given as their name: whose they are short for is for evidence to say."""
