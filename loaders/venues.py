"""Which naming rules the symbols of a dataset follow, and which files hold only what was asked for, so no rule applies.

Public examples of ICE and Eurex symbols are few: their definition files, where given, decide instead.
"""

import re

from loaders.grammar import BUTTERFLY, CALENDAR_SPREAD, MONTH_CODES, OPTION, OTHER_SPREAD, USER_DEFINED, Grammar

_CME_ROOT, _CME_CONTRACT = "[A-Z0-9]+?", rf"[{MONTH_CODES}]\d{{1,2}}"
_CME = Grammar(
    outright=re.compile(rf"(?P<root>{_CME_ROOT})(?P<month>[{MONTH_CODES}])(?P<year>\d{{1,2}})"),
    others=(
        (USER_DEFINED, re.compile(r"UD:.*")),
        (BUTTERFLY, re.compile(r"[A-Z0-9]+:BF .*")),
        (OTHER_SPREAD, re.compile(r"[A-Z0-9]+:.*")),
        (CALENDAR_SPREAD, re.compile(rf"(?P<root>{_CME_ROOT}){_CME_CONTRACT}-(?P=root){_CME_CONTRACT}")),
        (OTHER_SPREAD, re.compile(r".*-.*")),
        (OPTION, re.compile(r"[A-Z0-9]+ [CP]-?\d.*")),
    ),
)

# The root fills four places: "BRN FMJ0024!", "G   FMZ0020". The suffix marks a variant of the same contract's feed.
_ICE_ROOT, _ICE_CONTRACT = r"(?=.{4}FM)(?P<root>[A-Z0-9]{1,4}) *", rf"FM[{MONTH_CODES}]00\d\d"
_ICE_SUFFIX = r"(?:!|_[A-Z0-9]+)?"
_ICE = Grammar(
    outright=re.compile(rf"{_ICE_ROOT}FM(?P<month>[{MONTH_CODES}])00(?P<year>\d\d){_ICE_SUFFIX}"),
    others=(
        (CALENDAR_SPREAD, re.compile(rf"{_ICE_ROOT}{_ICE_CONTRACT}-(?P=root) *{_ICE_CONTRACT}{_ICE_SUFFIX}")),
        (OTHER_SPREAD, re.compile(r".*FM.*-.*FM.*")),
        (USER_DEFINED, re.compile(r"[A-Z0-9]{1,4} +\d+ +\d+")),
        (OPTION, re.compile(r"[A-Z0-9 ]{4}OM.*")),
    ),
)

_EUREX = Grammar(
    outright=re.compile(r"(?P<root>[A-Z0-9]+) SI (?P<year>\d{4})(?P<month>0[1-9]|1[0-2])\d\d (?:CS|PS)"),
    others=(
        (CALENDAR_SPREAD, re.compile(r"[A-Z0-9]+\.S\.[A-Z]{3}\d\d\.[A-Z]{3}\d\d\.SPD")),
        (BUTTERFLY, re.compile(r"[A-Z0-9]+\.B\..*\.SPD")),
        (OTHER_SPREAD, re.compile(r".*\.SPD")),
        (OPTION, re.compile(r"[A-Z0-9]+ [A-Z]{2} \d{8} (?:CS|PS) .+")),
    ),
)

GRAMMARS = {
    "GLBX.MDP3": _CME,
    "IFEU.IMPACT": _ICE, "IFLL.IMPACT": _ICE, "IFUS.IMPACT": _ICE, "NDEX.IMPACT": _ICE,
    "XEUR.EOBI": _EUREX, "XEEE.EOBI": _EUREX,
}
_EQUITY_VENUES = frozenset((
    "ARCX", "BATS", "BATY", "DBEQ", "EDGA", "EDGX", "EPRL", "EQUS", "IEXG", "LTSE", "MEMX", "XASE", "XBOS", "XCHI",
    "XCIS", "XNAS", "XNYS", "XPSX",
))


def left_alone(dataset: str, stype_in: str | None) -> str | None:
    """Why no rule on symbols applies to a file, so that all its rows are kept; None where one does.

    Equities have no spreads among them, and in a file of continuous symbols (``ES.v.0``) the request chose.
    """
    if stype_in == "continuous":
        return "symbols are continuous: the request chose the contracts"
    if dataset.partition(".")[0] in _EQUITY_VENUES:
        return f"dataset {dataset} holds equities"
    return None
