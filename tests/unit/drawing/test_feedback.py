from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.drawing.layout.feedback import feedback

ARCS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda arc: arc[0] != arc[1]), max_size=40)


def reaches(arcs: list[tuple[int, int]], start: int, goal: int) -> bool:
    """By saturation: slow, but not the way the code under test does it."""
    reached = {start}
    for _ in range(10):
        reached |= {target for source, target in arcs if source in reached}
    return goal in reached


@settings(deadline=None)
@given(ARCS)
def test_without_the_feedback_there_is_no_cycle(arcs: list[tuple[int, int]]) -> None:
    against = feedback(10, arcs)
    rest = [arc for number, arc in enumerate(arcs) if number not in against]
    assert not any(reaches(rest, target, source) for source, target in rest)


@settings(deadline=None)
@given(ARCS)
def test_reversing_the_feedback_leaves_no_cycle_either(arcs: list[tuple[int, int]]) -> None:
    against = feedback(10, arcs)
    turned = [(b, a) if number in against else (a, b) for number, (a, b) in enumerate(arcs)]
    assert not any(reaches(turned, target, source) for source, target in turned)


@settings(deadline=None)
@given(ARCS)
def test_only_arcs_on_a_cycle_are_feedback(arcs: list[tuple[int, int]]) -> None:
    assert all(reaches(arcs, arcs[number][1], arcs[number][0]) for number in feedback(10, arcs))


def test_a_plain_cycle_is_cut_where_its_author_closed_it() -> None:
    assert feedback(3, [(0, 1), (1, 2), (2, 0)]) == {2}


def test_answers_to_a_hub_run_backwards_not_the_questions() -> None:
    """requests -> crm, and crm asks two others, who answer."""
    arcs = [(0, 1), (1, 2), (2, 1), (1, 3), (3, 1)]
    assert feedback(4, arcs) == {2, 4}


def test_an_arc_between_two_cycles_is_never_feedback() -> None:
    """Node 3 of the second cycle gives most and is therefore taken first; still, 1 -> 3 is innocent."""
    second = [(3, 2), (3, 4), (3, 5), (3, 6), (2, 3), (4, 2), (5, 2), (6, 2)]
    assert feedback(7, [(0, 1), (1, 0), (1, 3), *second]) == {1, 7}


NODES = st.sets(st.integers(0, 9), max_size=3)


@settings(deadline=None)
@given(ARCS, NODES, NODES)
def test_wishes_break_all_cycles_and_nothing_else(arcs: list[tuple[int, int]], first: set[int], last: set[int]) -> None:
    against = feedback(10, arcs, sorted(first), sorted(last - first))
    turned = [(b, a) if number in against else (a, b) for number, (a, b) in enumerate(arcs)]
    assert not any(reaches(turned, target, source) for source, target in turned)
    assert all(reaches(arcs, arcs[number][1], arcs[number][0]) for number in against)


@settings(deadline=None)
@given(ARCS, st.integers(0, 9))
def test_what_leads_back_to_the_first_and_on_from_the_last_runs_backwards(
    arcs: list[tuple[int, int]], node: int
) -> None:
    cyclic = {number for number, (source, target) in enumerate(arcs) if reaches(arcs, target, source)}
    assert {number for number in cyclic if arcs[number][1] == node} <= feedback(10, arcs, first=[node])
    assert {number for number in cyclic if arcs[number][0] == node} <= feedback(10, arcs, last=[node])


def test_the_flow_is_read_from_where_it_begins() -> None:
    """0 -> 1 leads into a cycle, of which 3 gives most; still, 3 comes after 1, which the flow comes to before."""
    arcs = [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (3, 6), (4, 1), (5, 1), (6, 1)]
    assert feedback(7, arcs) == {6, 7, 8}
