"""The table that ranks kinds of bugs."""

from course_lib.oracle import CAUSES
from course_lib.oracle.bug_ranking import BugKind


def test_each_cause_has_a_kind_of_bug_and_each_kind_a_reason_for_its_rank():
    """Kinds without a cause are named in words only."""
    assert {kind.cause for kind in BugKind} == {*CAUSES, None}
    assert all(kind.value.reason.endswith(".") for kind in BugKind)


def test_a_tie_is_as_likely_as_the_kind_above_it_and_any_other_kind_is_less_likely():
    """The order of the table is the ranking."""
    ranks = [kind.likelihood(rarer=False, repeated=False) for kind in BugKind]
    for above, below, kind in zip(ranks, ranks[1:], [*BugKind][1:], strict=False):
        assert (above == below) if kind.value.tied else (above < below)


def test_what_is_rarer_than_a_factor_of_two_comes_last_and_repetition_decides_between_equals():
    """A tie is broken by the number of places; nothing else is."""
    first, last = next(iter(BugKind)), [*BugKind][-1]
    assert first.likelihood(rarer=True, repeated=False) > last.likelihood(rarer=False, repeated=True)
    assert first.likelihood(rarer=False, repeated=True) > first.likelihood(rarer=False, repeated=False)
    assert first.likelihood(rarer=False, repeated=True) < last.likelihood(rarer=False, repeated=False)
