"""Outputs are compared as what they are: numbers by the digits printed, ids by their order, everything else as text."""

import pytest

from course_grader.notebooks.compare_outputs import find_differences


def same(committed: str, came: str, **options) -> bool:
    """Both ways: which of the two is committed makes no difference."""
    forth, back = find_differences(committed, came, **options), find_differences(came, committed, **options)
    assert len(forth) == len(back)
    return not forth


@pytest.mark.parametrize(
    ("committed", "came"),
    [
        ("loss 1.234", "loss 1.235"),
        ("-1.234e-07", "-1.235e-07"),
        ("1e-07", "9.9e-08"),
        ("a fall of 99.6%", "a fall of 99.7%"),
        ("4.321x as fast, in 1.234ms", "4.322x as fast, in 1.233ms"),
        ("1,234.56", "1,234.57"),
        ("999.99 of", "1,000.00 of"),
        (".8751em", ".8752em"),
        ("\u22121.234", "\u22121.235"),
        ("-0.0000", "0.0000"),
        ("between 0.5 and 2.", "between 0.5 and 1.99."),
    ],
)
def test_a_number_may_differ_by_one_in_its_last_digit(committed, came):
    """That is what rounding in another order changes."""
    assert same(committed, came)


@pytest.mark.parametrize(("exact", "near"), [("1.0", "0.999"), ("10.0", "9.99"), ("10", "9.99"), ("1e+05", "99999.9")])
def test_where_rounding_changes_the_number_of_digits_the_finer_last_digit_counts(exact, near):
    """0.9996 is printed as 1.0, and 0.9994 as 0.999."""
    assert same(exact, near)
    assert not same(exact, near[:-1] + "7")


@pytest.mark.parametrize(
    ("committed", "came"),
    [
        ("1.234", "1.236"),
        ("1.234", "-1.234"),
        ("1.234", "nan"),
        ("inf", "-inf"),
        ("1.2e-07", "1.2e-06"),
        ("3.1", "3.2"),
        ("0.5", "0.6"),
        ("0.00", "0.01"),
        ("1e-07", "2e-07"),
        ("1,234.56", "1,244.56"),
        ("45.2%", "45.4%"),
        ("1.234 5.678", "1.234"),
        ("loss 1.234", "loss"),
    ],
)
def test_more_than_one_in_the_last_digit_or_any_of_the_first_two_is_a_difference(committed, came):
    """A sign, an exponent, and what is no number are differences, too."""
    assert not same(committed, came)


@pytest.mark.parametrize(
    ("committed", "came"),
    [
        ("step 999", "step 1000"),
        ("(3, 4)", "(3, 5)"),
        ("1,234 steps", "1,235 steps"),
        ("1,234 steps", "1234 steps"),
        ("[0. 1.]", "[-0. 1.]"),
        ("[1. 2.]", "[1. 3.]"),
        ("conv2d", "conv3d"),
        ("float32", "float33"),
        ("#3a86c8", "#3a87c8"),
        ("#112e05", "#113e05"),
        ("0x1f", "0x2f"),
        ("torch 2.13.1", "torch 2.13.2"),
        ("net.10.bias", "net.11.bias"),
        ("x1.234", "x1.235"),
        ("3-1.5 a-1.5", "3-1.5 a+1.5"),
    ],
)
def test_whole_numbers_and_digits_within_words_are_compared_exactly(committed, came):
    """They count or name something."""
    assert same(committed, committed)
    assert not same(committed, came)


def test_blanks_may_make_room_for_a_digit():
    """In a table, where a number has become shorter or longer, and nowhere else."""
    narrow = "name  loss\n----------\na     9.99\nbb    1.23\n"
    assert same(narrow, "name   loss\n-----------\na     10.00\nbb     1.23\n")
    assert same("[1.    0.5  ]", "[0.999 0.5  ]")
    assert same("[-0.000  1.234]", "[ 0.000  1.234]")
    assert not same("a  1.234", "a   1.234")
    assert not same("name  loss", "name loss")


def test_every_number_that_differs_is_told_with_what_is_around_it():
    """Both sides, shortened; the first other word is the last that is told."""
    text = "x" * 100 + " 1.111 and 2.222 " + "y" * 100
    found = find_differences(text, text.replace("1.111", "1.511").replace("2.222", "2.522"))
    assert [(one.committed.strip("xy."), one.came.strip("xy.")) for one in found] == [
        (" 1.111 and 2.222 ", " 1.511 and 2.522 ")
    ] * 2
    assert max(len(one.came) for one in found) < 120
    assert len(find_differences("a 1.111 b 2.222", "b 1.111 c 3.333")) == 1


def test_a_page_may_widen_the_tolerance():
    """Relative to the larger number; what is counted stays exact."""
    assert same("1.2345, 3 steps", "1.2395, 3 steps", within=0.005)
    assert not same("1.2345, 3 steps", "1.2445, 3 steps", within=0.005)
    assert not same("1000 steps", "1001 steps", within=0.005)


CHART = """<svg viewBox="0 0 345.6 216"><path id="{a}" d="M 57.12 43.2 \nL57.12,-100.25" style="stroke: #3a86c8"/>
<clipPath id="{b}"><rect width="101.5"/></clipPath><use xlink:href="#{a}" x="12.75"/><g clip-path="url(#{b})"/>
<text id="{c}">9.99 loss</text><p aria-labelledby="{c} {a}" class="m1">1.234</p></svg>"""


def test_ids_are_compared_by_their_order():
    """Whatever they are called; references follow."""
    committed = CHART.format(a="m1", b="p2", c="t")
    assert same(committed, CHART.format(a="p2", b="m1", c="other"), markup=True)
    assert not same(committed, CHART.format(a="m1", b="p2", c="t").replace("#m1", "#p2"), markup=True)
    assert not same(committed, CHART.format(a="m1", b="p2", c="t").replace('"t m1"', '"m1 t"'), markup=True)
    assert not same(committed, CHART.format(a="m1", b="m1", c="t"), markup=True)
    assert not same(committed, committed.replace('class="m1"', 'class="p2"'), markup=True)


@pytest.mark.parametrize(
    ("old", "new"), [("57.12", "57.13"), ("-100.25", "-100.26"), ("12.75", "12.74"), ("43.2", "43.19"), ("9.99", "10")]
)
def test_coordinates_are_numbers_even_right_after_a_command(old, new):
    """`L57.12` in a path is no word; a shift of more than the last digit is seen."""
    committed = CHART.format(a="m", b="p", c="t")
    assert same(committed, committed.replace(old, new), markup=True)
    digit = next(i for i, letter in enumerate(old) if letter.isdigit()) + 1
    further = old[:digit] + str(9 - int(old[digit])) + old[digit + 1 :] if old[digit].isdigit() else old + "5"
    assert not same(committed, committed.replace(old, further), markup=True)


def test_styles_and_scripts_are_text():
    """A constant in a program is not a result."""
    page = "<style>a {{opacity: {0}}}</style><script>x = {0}</script>"
    assert same(page.format("0.123"), page.format("0.123"), markup=True)
    assert not same(page.format("0.123"), page.format("0.124"), markup=True)
