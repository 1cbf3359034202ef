"""What each piece of a `.demaq` source is taken for: the marked pieces, in their order, have the scopes listed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from editors.conftest import Highlight, Token

NAME = "support.other.name-test"
TEXT = "meta.content"
TAG = "entity.name.tag"
ATTRIBUTE = "entity.other.attribute-name"
COMPARISON = "keyword.operator.comparison"
TAG_BEGIN = "punctuation.definition.tag.begin"
VARIABLE = "variable.other"

STATEMENTS = [
    ("«module» «m» «errorqueue» «q»;",
     "keyword.other.statement", "entity.name.namespace.module", "keyword.other.option", "variable.other.queue"),
    ("«create» «queue» «finance» «kind» «basic» «mode» «persistent»",
     "keyword.other.statement", "keyword.other.statement", "entity.name.type.queue", "keyword.other.option",
     "constant.language.kind", "keyword.other.option", "constant.language.mode"),
    ("create queue «queue» kind echo mode transient", "entity.name.type.queue"),
    ("create queue q kind «incomingGateway» mode persistent «interface» «supplier.wsdl» «port» «P»",
     "constant.language.kind", "keyword.other.option", "string.unquoted.file", "keyword.other.option",
     "variable.other.port"),
    ("create queue q kind basic mode persistent\n  «using» «WS-Security» «policy»\n  «wssec.xml» «priority» «-3»",
     "keyword.other.option", "constant.language.feature", "keyword.other.option", "string.unquoted.file",
     "keyword.other.option", "constant.numeric"),
    ('create queue q kind basic mode persistent schema "«a b.xsd»" errorqueue «schema»',
     "string.quoted.double", "variable.other.queue"),
    ("create «property» «p» «as» «xs:boolean» «inherited» «queue» «a», «b»,\n «c» «value» «false»",
     "keyword.other.statement", "entity.name.type.property", "keyword.other.as", "support.type.xs",
     "storage.modifier", "keyword.other.option", "variable.other.queue", "variable.other.queue",
     "variable.other.queue", "keyword.other.clause", "constant.language.boolean"),
    ("create property p as xs:string «fixed» queue a value «value» queue «value» value «//»«value»",
     "storage.modifier", NAME, "variable.other.queue", "keyword.operator.path", NAME),
    ("create property p as xs:boolean queue a value «true»()", "support.function.builtin"),
    ("create «slicing» «s» «on» «on»",
     "keyword.other.statement", "entity.name.type.slicing", "keyword.other.option", "variable.other.property"),
    ('create «collection» «c» «from» "«x/*.xml»"',
     "keyword.other.statement", "entity.name.type.collection", "keyword.other.option", "string.quoted.double"),
    ("create «rule» «r» «for» «q» «errorqueue» «e» «if» (a) «then» ()",
     "keyword.other.statement", "entity.name.function.rule", "keyword.other.option", "variable.other.queue",
     "keyword.other.option", "variable.other.queue", "keyword.control", "keyword.control"),
    ("create rule\n  «r»\n  for\n  (: which :) «q»\nif (a) then ()",
     "entity.name.function.rule", "variable.other.queue"),
    ("create rule r for q «do» «enqueue» <«a»/> into q",
     "keyword.control.action", "keyword.control.action", TAG),
    *[
        (f"create rule r for q «{prefix}» {{ <«a»/> }}", scope, TAG)
        for scope, *prefixes in (
            ("keyword.control", "try", "ordered", "validate", "validate strict"),
            ("storage.type.constructor", "document", "map", "element"),
        )
        for prefix in prefixes
    ],
    ("create rule r for q «validate» «type» «t» { a }; «element» «t» { a }; «function»() { a }",
     "keyword.control", "keyword.control", "support.type", "storage.type.constructor", TAG,
     "storage.type.function"),
    ("create rule r for q if (a) then\ncreate queue «e» kind basic mode persistent", "entity.name.type.queue"),
    ("create property p as xs:int queue a«,» «b» value 1«;» «create» view v",
     "punctuation.separator.sequence", "variable.other.queue", "punctuation.terminator",
     "keyword.other.statement"),
    ("create rule a for b if (c) then «d»\n«create» queue e kind basic mode persistent",
     NAME, "keyword.other.statement"),
    ("create rule a for b if (c) then «create»\ncreate queue «e» kind basic mode persistent",
     NAME, "entity.name.type.queue"),
]  # fmt: skip

PROLOG = [
    ('«declare» «namespace» «p» = "u";', "keyword.other.prolog", "keyword.other.prolog", "entity.name.namespace"),
    ('declare default «function» «namespace» "u";', "keyword.other.prolog", "keyword.other.prolog"),
    ("declare «%»«updating» «function» «local:f»(«$»«x» as «item»()«*») as «xs:int»«?» { «do» reset };",
     "punctuation.definition.annotation", "storage.modifier.annotation", "keyword.other.prolog",
     "entity.name.function", "punctuation.definition.variable", VARIABLE, "support.type.kind-test",
     "keyword.operator.occurrence", "support.type.xs", "keyword.operator.occurrence", "keyword.control.action"),
    ("declare variable $«v» as xs:int «external»;", "entity.name.variable", "keyword.other.prolog"),
    ("declare variable $v := <«a»/>; create queue «q» kind basic mode persistent", TAG, "entity.name.type.queue"),
    ("declare variable $v «:=» «-» «1»«;»",
     "keyword.operator.assignment", "keyword.operator.arithmetic", "constant.numeric", "punctuation.terminator"),
    ('declare «option» «o:p» "«v»"«;»',
     "keyword.other.prolog", "support.other.option", "string.quoted.double", "punctuation.terminator"),
    ('declare namespace p «=» "«u»"; declare context item := «context»;',
     "keyword.operator.assignment", "string.quoted.double", NAME),
    ('declare %«a:b»("«function»", «1», (: «c» :)) function «local:f»() { 1 };',
     "storage.modifier.annotation", "string.quoted.double", "constant.numeric", "comment.block",
     "entity.name.function"),
    ("declare function (: «c» :)\n  local:f\n(«$»x) { <«a»/> };",
     "comment.block", "punctuation.definition.variable", TAG),
    ("declare variable $v external«;» import schema (: «c» :) 'u' at '«v»'''«;»",
     "punctuation.terminator", "comment.block", "string.quoted.single", "punctuation.terminator"),
    ('import «module» namespace «m» = "u" «at» "f";', "keyword.other.prolog", "entity.name.namespace",
     "keyword.other.prolog"),
]  # fmt: skip

ACTIONS = [
    ("if (a) then «do» «enqueue» $m «into» «q» «with» «P» «value» 1 «with» «into» «value» «value»",
     "keyword.control.action", "keyword.control.action", "keyword.control.action", "variable.other.queue",
     "keyword.control.action", "variable.other.property", "keyword.other.clause",
     "keyword.control.action", "variable.other.property", "keyword.other.clause", NAME),
    ("if (a) then «do» «reset» else «do» «reset» «s» «key» «key»",
     "keyword.control.action", "keyword.control.action", "keyword.control.action", "keyword.control.action",
     "variable.other.slicing", "keyword.other.clause", NAME),
    ("if (a) then do «raise» «event» «e»(«p» := 1,\n «for» := «for»)",
     "keyword.control.action", "keyword.control.action", "variable.other.event", "variable.parameter",
     "variable.parameter", NAME),
    ("if (a) then do «raise» «event» «e», do raise event f(«p» := (1, 2)«,» (: «c» :) «q» := 3)",
     "keyword.control.action", "keyword.control.action", "variable.other.event", "variable.parameter",
     "punctuation.separator.sequence", "comment.block", "variable.parameter"),
    ("if (a) then do enqueue m into q with P value «true»", NAME),
    ("if (a) then do enqueue «do» into q, «do» reset", NAME, "keyword.control.action"),
    ("if (//«do»/«enqueue») then «do»()", NAME, NAME, "support.function.builtin"),
]  # fmt: skip

NAMES_AND_KEYWORDS = [
    ("if (//«if») then «then» else «else»", NAME, NAME, NAME),
    ("if (//«if»\n) then ()", NAME),
    ("if (a and //«if»\n) then (do raise event «if»)", NAME, "variable.other.event"),
    ("if (@«into» = $«create» «and» «and» «and» «or»)", ATTRIBUTE, VARIABLE, "keyword.operator.wordlike", NAME,
     "keyword.operator.wordlike", NAME),
    ("if (\n  «return»/«for»\n  «div» «div»)", NAME, NAME, "keyword.operator.wordlike", NAME),
    ("if (a) then «for»\n  $x «in» «in»\n  «return»\n  «return»", "keyword.control", "keyword.control", NAME,
     "keyword.control", NAME),
    ("(«for»-each(a, «for-each»«#»«2»))", "support.function.builtin", "support.function.builtin",
     "keyword.operator.arity", "constant.numeric"),
    ("(a«||»b «|» c «!» d «=>» e() «/» (f) «//» (g), «-» «+»1, «/», a/\n«if»)", "keyword.operator.concatenation",
     "keyword.operator.set", "keyword.operator.map", "keyword.operator.arrow", "keyword.operator.path",
     "keyword.operator.path", "keyword.operator.arithmetic", "keyword.operator.arithmetic",
     "keyword.operator.path", NAME),
    ("(/ «=» «return», //\n«a»«=»«return»)", COMPARISON, NAME, NAME, COMPARISON, NAME),
    ("(a>«$»«b», a>«1», a>«.», a>/«b», a>«do» «reset»)", "punctuation.definition.variable", VARIABLE,
     "constant.numeric", "variable.language.context", NAME, "keyword.control.action", "keyword.control.action"),
    ("(«?»«a», $m?(b), «?»(<«c»/>), f(«?», «return»), $m ! ?«1»)", "keyword.operator.lookup", "support.other.key",
     "keyword.operator.lookup", TAG, "keyword.operator.lookup", NAME, "support.other.key"),
    ("(for $x in a «for» $y in «in» «for» «sliding» window $w in «in» return b)", "keyword.control", NAME,
     "keyword.control", "keyword.control", NAME),
    ("(for $x «allowing» «empty» in a «group» «by» $y := b «count» $c return d)", *["keyword.control"] * 5),
    ("(typeswitch (a) case b return c «default» $x «return» <«d»/>)", "keyword.control", "keyword.control", TAG),
    ("(switch (a) case b return c «default»\n «return» <«d»/>)", "keyword.control", "keyword.control", TAG),
    ("(«ordered» { a }, «validate» «lax» { b }, «validate» «type» «c» { d }, «ordered», «validate», «try»)",
     "keyword.control", "keyword.control", "keyword.control", "keyword.control", "keyword.control",
     "support.type", NAME, NAME, NAME),
    ("(let $f as «function»(«xs:int»«,» «a»«?») «as» «b» := c,"
     " d as (: «e» :) element((: «f» :) g) := h, i as «,» j)",
     "support.type.kind-test", "support.type.xs", "punctuation.separator.sequence", "support.type",
     "keyword.operator.occurrence", "keyword.other.as", "support.type", "comment.block", "comment.block",
     "punctuation.separator.sequence"),
    ("(a instance of function(function(b) «as» c) as d, e instance of %«f» function(*))", "keyword.other.as",
     "storage.modifier.annotation"),
    ("(try { a } catch (: «b» :) c «|» d { e })", "comment.block", "keyword.operator.set"),
    ("(a«,» «if»«,» «if» (b) «then» c «else» d)", "punctuation.separator.sequence", NAME,
     "punctuation.separator.sequence", "keyword.control", "keyword.control", "keyword.control"),
    ("(«for» $x «at» $at «in» a «let» $y := b «where» c «order» by d «ascending» «empty» least «return» e)",
     *["keyword.control"] * 9),
    ("(for «tumbling» window $w in a «start» $s at $i «when» b «end» «when» c return d)",
     *["keyword.control"] * 5),
    ("(«some» $x in a «satisfies» b, «every» $x in a satisfies b)", *["keyword.control"] * 3),
    ("(«typeswitch» (a) «case» $x as «element»() return 1 «case» xs:string«*» «return» 2 «default» «return» 3)",
     "keyword.control", "keyword.control", "support.type.kind-test", "keyword.control",
     "keyword.operator.occurrence", "keyword.control", "keyword.control", "keyword.control"),
    ("(«try» { a } «catch» «err:X» | «*» { b })", "keyword.control", "keyword.control", "support.class.error",
     "keyword.operator.wildcard"),
    ("(a «instance» «of» «xs:string»«+», b «cast» «as» «my:type»«?», c «treat» as «map»(«xs:int», item())«*» = d)",
     "keyword.operator.wordlike", "keyword.operator.wordlike", "support.type.xs", "keyword.operator.occurrence",
     "keyword.operator.wordlike", "keyword.operator.wordlike", "support.type", "keyword.operator.occurrence",
     "keyword.operator.wordlike", "support.type.kind-test", "support.type.xs", "keyword.operator.occurrence"),
    ("(«child»«::»«text»(), «child», «text»/«node»(), parent::«*», «ancestor-or-self»::a:*)",
     "support.constant.axis", "keyword.operator.axis", "support.type.kind-test", NAME, NAME,
     "support.type.kind-test", "keyword.operator.wildcard", "support.constant.axis"),
    ("(«*» «*» «*», a/«*»/@«*», «*:b»)", "keyword.operator.wildcard", "keyword.operator.arithmetic",
     "keyword.operator.wildcard", "keyword.operator.wildcard", ATTRIBUTE, "keyword.operator.wildcard"),
    ("(«1» + «1.5e-3» - «.5», a-«1», «.», «..», [«.»])",
     *["constant.numeric"] * 3, NAME, *["variable.language.context"] * 3),
    ("(«qs:message»(), «qs:queue»(1), «qs:slice»(), «qs:slicekey»(), «qs:property»(1), «qs:x»(), qs:«slice»)",
     *["support.function.qs"] * 5, "variable.function", NAME),
    ("(«count»(a), «fn:count»(a), «local:f»(a), a => «local:f»(), «xs:date»('x'))", "support.function.builtin",
     "support.function.builtin", "variable.function", "variable.function", "support.type.xs"),
    ("(«map» { 'a'«:» «map», b : 2 }«?»«a», [1, «array» { 2 }]?«1», «map»)", "storage.type.constructor",
     "punctuation.separator.entry", NAME, "keyword.operator.lookup", "support.other.key",
     "storage.type.constructor", "support.other.key", NAME),
    ("(«element» «a» { «attribute» { b } { c }, «text» { d } }, «element»)", "storage.type.constructor", TAG,
     "storage.type.constructor", "storage.type.constructor", NAME),
    ("(«function»($x as «xs:int») as xs:int { «$»x }, %«private» function() { 1 })", "storage.type.function",
     "support.type.xs", "punctuation.definition.variable", "storage.modifier.annotation"),
    ("((#«p:q» any (: thing#) { «a» })", "keyword.other.pragma", NAME),
    ("(Q{«urn:x»}a, $Q{«urn:x»}b)", NAME, VARIABLE),
]  # fmt: skip

LITERALS = [
    ("(: a «(: b :)» «do reset» :) «if» (a) then b", "comment.block", "comment.block", "keyword.control"),
    ("(: a\n «create queue x» (: :)\n «b» :) create queue «c» kind basic mode persistent",
     "comment.block", "comment.block", "entity.name.type.queue"),
    ("if (a (: «)» :)) then «(: b :)» «c»", "comment.block", "comment.block", NAME),
    ('("«{ not } (: code :) <a>»", \'«{»\', "a«""»b«&quot;»", "", \'«\'\'»\')',
     "string.quoted.double", "string.quoted.single", "constant.character.escape", "constant.character.entity",
     "constant.character.escape"),
    ('("one\n«two (: »", «b»)', "string.quoted.double", NAME),
    ("(``[«a { } \" ] (: »`{ «$»x || ``[`{ «1» }`]`` }`«}»]``, «b»)",
     "string.interpolated", "punctuation.definition.variable", "constant.numeric", "string.interpolated", NAME),
    ("(``[`{ <«a»/> }`]``, '«&lt;»')", TAG, "constant.character.entity"),
    ('("a «&» b")', "invalid.illegal.bare-ampersand"),
]  # fmt: skip

CONSTRUCTORS = [
    ("if (a) then <«for»/> else «else»", TAG, NAME),
    ("(<«if» «then»=\"«else»\" «in»='«return»'>«do enqueue»</«if»>, «b»)",
     TAG, ATTRIBUTE, "string.quoted.double", ATTRIBUTE, "string.quoted.single", TEXT, TAG, NAME),
    ("(<a>«(: text :)» { «(: comment :)» b } «(: text :)»</a>)", TEXT, "comment.block", TEXT),
    ('(<a b="{ «if» ("}") then "«{»" else c }«d»{{«e»}}{ <f g="{ \'«"»\' }"/> }">«h»</a>, «i»)',
     "keyword.control", "string.quoted.double", "string.quoted.double", "string.quoted.double",
     "string.quoted.single", TEXT, NAME),
    ("(<a b='«(: text :)»{«(: comment :)» c}«\"»d«''»'/>)", "string.quoted.single", "comment.block",
     "string.quoted.single", "constant.character.escape"),
    ("(<a>{{ «b» }} «{{»{ «c» }«}}» «&#x20;» > \" ' «d»</a>)", TEXT, "constant.character.escape", NAME,
     "constant.character.escape", "constant.character.entity", TEXT),
    ("(<a><![CDATA[ «{ </a> &» ]]>«b»<!-- «{ </a>» -->«c»<?p «{ </a>» ?>«d»</a>, «e»)",
     "string.unquoted.cdata", TEXT, "comment.block.xml", TEXT, "meta.processing-instruction", TEXT, NAME),
    ("(<!-- «a» -->, <?p «b»?>, «c»)", "comment.block.xml", "meta.processing-instruction", NAME),
    ("(<a><b/><c>{ <d>{ «$»e }«f»</d> }«g»</c>«h»</a\n>, «i»)", "punctuation.definition.variable", TEXT, TEXT,
     TEXT, NAME),
    ("(<a\n  b=\"1\"\n  «c»=\"2\"\n>«d»</a>)", ATTRIBUTE, TEXT),
    ("(<p:a xmlns:p='u' «p:b»='1'/>)", ATTRIBUTE),
    ("(a «<» b, a «<»b, a«<»b, a «<=» b, $a «<<» $b, 1 «<» <«c»/>)", *[COMPARISON] * 6, TAG),
    ("(a «>» b, a«>»b, a «>=» <«c»/>, <a/> «>» «return» «and» b)", COMPARISON, COMPARISON, COMPARISON, TAG,
     COMPARISON, NAME, "keyword.operator.wordlike"),
    ("(f() «<» 2, $a[1] «<»b, \"x\" «<» 'y', <«a»/>)", COMPARISON, COMPARISON, COMPARISON, TAG),
    ("if (a «<» b) then «<»b/> else return «<» 3", COMPARISON, TAG_BEGIN, COMPARISON),
    ("(for $x in a return\n  (: c :)\n  «<»«b»/>)", TAG_BEGIN, TAG),
    ("(1 «-» <«a»/>, not(«<»b/>), [«<»c/>], {«<»d/>})", "keyword.operator.arithmetic", TAG, TAG_BEGIN, TAG_BEGIN,
     TAG_BEGIN),
    ("(<a b=\"«&lt;»«\"\"»\" c='«&lt;»«{{»'/>)", "constant.character.entity", "constant.character.escape",
     "constant.character.entity", "constant.character.escape"),
    ("(<a b«=»'{1}«}»' c=\"«}»\">«}»</a>)", "punctuation.separator.key-value",
     *["invalid.illegal.stray-brace"] * 3),
    ("if (a«]») then b", "invalid.illegal.unbalanced"),
]  # fmt: skip

CASES = [*STATEMENTS, *PROLOG, *ACTIONS, *NAMES_AND_KEYWORDS, *LITERALS, *CONSTRUCTORS]


def _unmark(marked: str) -> tuple[str, list[tuple[int, int]]]:
    """The source without its marks, and where they were.

    >>> _unmark("a «bc» «d»")
    ('a bc d', [(2, 4), (5, 6)])
    """
    marks = [
        (found.start() - 2 * number, found.end() - 2 * number - 2)
        for number, found in enumerate(re.finditer("«[^»]*»", marked))
    ]
    return re.sub("[«»]", "", marked), marks


BEFORE_A_NAME = [
    "module", "create queue", "create property", "create slicing", "create collection", "create rule",
    "kind", "mode", "schema", "interface", "policy", "port", "errorqueue", "queue", "on", "for", "into", "with",
]  # fmt: skip


@pytest.mark.parametrize("keyword", BEFORE_A_NAME)
def test_a_comment_may_stand_before_a_name(keyword: str, highlight: Highlight) -> None:
    highlighted = highlight(f"{keyword}\n(: a\n COMMENT :) basic")
    assert highlighted.at(highlighted.source.index("COMMENT")).scopes[-1] == "comment.block.demaq"
    assert highlighted.left_open == ()


@pytest.mark.parametrize("keyword", BEFORE_A_NAME)
def test_a_name_that_is_still_to_be_written_spoils_nothing(keyword: str, highlight: Highlight) -> None:
    highlighted = highlight(f"{keyword}\n; create queue NAME kind basic mode persistent")
    assert highlighted.at(highlighted.source.index("NAME")).scopes[-1] == "entity.name.type.queue.demaq"


def _telling(token: Token, expected: str) -> str:
    """The innermost scope; that of a delimiter tells nothing, unless it is what is asked for."""
    wanted = [scope for scope in token.scopes if expected.startswith("punct") or not scope.startswith("punct")]
    return wanted[-1]


@pytest.mark.parametrize(("marked", "expected"), [(source, scopes) for source, *scopes in CASES])
def test_marked_pieces_have_their_scopes(marked: str, expected: list[str], highlight: Highlight) -> None:
    source, marks = _unmark(marked)
    highlighted = highlight(source)
    for (start, end), scope in zip(marks, expected, strict=True):
        for token in highlighted.between(start, end):
            assert f"{_telling(token, scope)}.".startswith(f"{scope}."), (source[start:end], token.scopes)
