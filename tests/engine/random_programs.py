"""Programs and messages by chance, small enough to meet in slices, queues and resets all the time."""

from dataclasses import dataclass

from hypothesis import strategies as st

from demaq.store import HEAD

TAGS = ("p", "q", "r", "end")
QUEUES = ("a", "b", "c")


@dataclass(frozen=True)
class Phase:
    """Messages that come in together, and the hours that pass after all is processed."""

    messages: tuple[tuple[str, str], ...]
    hours: int


@dataclass(frozen=True)
class Story:
    """A program, and what happens to it."""

    text: str
    phases: tuple[Phase, ...]
    is_transient: bool


queues = st.sampled_from(QUEUES)
tags = st.sampled_from(TAGS)

_SEEN_ANYWHERE = st.one_of(
    st.builds('qs:queue("{}")/*/@n ! string(.)'.format, queues),
    st.builds('count(qs:queue("{}"))'.format, queues),
    st.builds('qs:queue("{}")[//@k = qs:message()/*/@k]/*/@n ! string(.)'.format, queues),
    st.builds('qs:queue("{}")[//@k = "x"]/*/@n ! string(.)'.format, queues),
    st.builds('qs:queue("{}")[//@j = 1]/*/@n ! string(.)'.format, queues),
    st.builds('qs:queue("{}")[//@n = 1]/*/@k ! string(.)'.format, queues),
    st.builds('count(qs:queue("{}")[/{} and //@j = number(qs:message()/*/@j)])'.format, queues, tags),
    st.builds('qs:queue("{}")/*/@k/qs:property("byJ", .)'.format, queues),
    st.sampled_from(
        [
            'qs:property("travels")',
            "current-dateTime()",
            'qs:property("byJ")',
            "xs:integer(/*/@n)",
            'qs:property("sys:queue")',
        ]
    ),
)
_SEEN_IN_SLICES = st.one_of(
    _SEEN_ANYWHERE,
    st.sampled_from(
        [
            "qs:slice()/*/@n ! string(.)",
            "count(qs:slice())",
            "qs:slicekey()",
            'qs:slice() ! qs:property("sys:queue", .)',
            "count(qs:slice()/p)",
        ]
    ),
)


def _made(seen: str, tag: str, key: str) -> str:
    """A message that makes less of the next one, so that there is an end."""
    return f'<{tag} n="{{/*/@n}}" k="{key}" j="{{/*/@j}}" ttl="{{/*/@ttl - 1}}">{{{seen}}}</{tag}>'


_RESETS = ("do reset byKey key /*/@k", "do reset byNumber key xs:integer(/*/@j)", 'do reset byKey key "x"')
_KEYS = st.sampled_from(["{/*/@k}", "x", "y"])


@st.composite
def _action(draw: st.DrawFn, in_slices: bool) -> str:
    seen = draw(_SEEN_IN_SLICES if in_slices else _SEEN_ANYWHERE)
    message = _made(seen, draw(tags), draw(_KEYS))
    chosen = draw(st.integers(0, 9))
    if chosen < 3:
        return f"do enqueue {message} into {draw(queues)}"
    if chosen < 4:
        return f'do enqueue {message} into {draw(queues)} with travels value "{draw(st.sampled_from("uv"))}"'
    if chosen < 5:
        hours = draw(st.integers(0, 2))
        target = draw(queues)
        return (
            f"do enqueue {message} into later"
            f' with timeout value xs:dayTimeDuration("PT{hours}H") with target value "{target}"'
        )
    if chosen < 6:
        return f'error(xs:QName("planned"), string-join(({seen}) ! string(.), " "))'
    if chosen < 8:
        return draw(st.sampled_from(_RESETS))
    if in_slices:
        return f"(do reset, do enqueue {message} into {draw(queues)})" if draw(st.booleans()) else "do reset"
    return f"(do enqueue {message} into {draw(queues)}, do enqueue {message} into {draw(queues)})"


_IN_SLICE = st.one_of(
    st.builds("qs:slice()[/{}] and qs:slice()[/{}]".format, tags, tags),
    st.builds("qs:slice()[/{} or /{}]".format, tags, tags),
    st.builds("qs:slice()/{} and not(qs:slice()[/{} or /{}])".format, tags, tags, tags),
    st.builds("/{} or not(qs:slice()/{})".format, tags, tags),
    st.builds("/{} and empty(qs:slice()/{})".format, tags, tags),
    st.builds("qs:slice()[/{}/@n = '1']".format, tags),
)


@st.composite
def _rule(draw: st.DrawFn, number: int) -> str:
    target = draw(st.sampled_from([*QUEUES, "byKey", "byNumber"]))
    in_slices = target.startswith("by")
    tests = [f"/{draw(tags)}", "/*"]
    if in_slices:
        tests += [draw(_IN_SLICE), draw(_IN_SLICE), f"count(qs:slice()) ge {draw(_SMALL)}"]
    else:
        tests += [f'count(qs:queue("{draw(queues)}")) mod 2 eq 0', f'qs:queue("{draw(queues)}")[//@k = "y"]']
    test = draw(st.sampled_from(tests))
    # What stands behind a comparison that may fail is in no skip condition.
    both = draw(st.sampled_from(["/*/@ttl > 0 and ({})", "({}) and /*/@ttl > 0"])).format(test)
    return f"create rule r{number} for {target} if ({both}) then {draw(_action(in_slices))}\n"


_SMALL = st.integers(1, 3)


def _definitions(mode: str, priority: int) -> str:
    return f"""
create queue a kind basic mode persistent
create queue b kind basic mode persistent priority {priority}
create queue c kind basic mode {mode}
create queue later kind echo mode {mode}
create property byK as xs:string fixed queue a, b, c value /*/@k[. != ""]
create property byJ as xs:integer fixed queue b, c value /*/@j
create property travels as xs:string inherited queue a, b, c, later value "w"
create slicing byKey on byK
create slicing byNumber on byJ
create rule endKey for byKey if (/end) then do reset
create rule endNumber for byNumber if (/end) then do reset
"""


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, str]:
    tag, queue = draw(tags), draw(queues)
    key, number, ttl = (
        draw(st.sampled_from(["x", "y", ""])),
        draw(st.integers(1, 2)),
        draw(st.sampled_from([2, 1, 1, 0])),
    )
    name = draw(st.sampled_from(["1", "2", "3", "z"]))
    more = draw(st.sampled_from(["", "", "", ' xmlns=""', f' long="{"." * HEAD}"']))  # do not tell the root at once
    return queue, f'<{tag}{more} n="{name}" k="{key}" j="{number}" ttl="{ttl}"/>'


@st.composite
def stories(draw: st.DrawFn) -> Story:
    is_transient = draw(st.booleans())
    rules = [draw(_rule(number)) for number in range(draw(st.integers(4, 9)))]
    phases = draw(
        st.lists(
            st.builds(Phase, st.lists(messages(), min_size=4, max_size=12).map(tuple), st.integers(0, 2)),
            min_size=1,
            max_size=3,
        )
    )
    text = _definitions("transient" if is_transient else "persistent", draw(st.sampled_from([0, 0, 5, -5])))
    return Story(text + "".join(rules), tuple(phases), is_transient)
