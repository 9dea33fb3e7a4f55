"""A warm-up judges each guess at once, draws what is right, and remembers it."""

import pytest

ROWS, ORDERED = "chapters/mechanics/what_backward_does", "chapters/clipping/clip_the_gradient"


@pytest.fixture
def card(visit):
    """Open a page; return it with its warm-up."""

    def open_page(name, **settings):
        page = visit(name, **settings)
        return page, page.locator(".bp-warm.ready").first

    return open_page


def pressed(field):
    """Press all buttons of a row, the right one once more at the end; return what was said to each wrong one."""
    told = []
    for button in field.get_by_role("button").all():
        button.click()
        told.append(field.get_by_role("status").text_content())
    field.locator("button.lit").click()
    assert "Right" in field.get_by_role("status").text_content()
    return [said.removeprefix("Not yet. ") for said in told if "Right" not in said]


def test_each_wrong_guess_is_told_its_reason_and_the_last_right_one_opens_the_fold(card):
    """What the fold says of it, in its order; what was wrong stays crossed out."""
    page, warm_up = card(ROWS)
    fold, fields = warm_up.locator("details"), warm_up.locator(".bp-field").all()
    for at, field in enumerate(fields):
        assert not fold.get_attribute("open")
        told = pressed(field)
        assert field.locator(".missed").count() == len(told)
        reasons = fold.locator(".bp-mistakes ul").nth(at).locator("li").all_text_contents()
        assert all(why.endswith(said) for why, said in zip(reasons, told, strict=True))
    assert fold.get_attribute("open") is not None
    assert page.troubles == []


def test_a_gradient_that_arrives_is_drawn_in_the_colour_that_comes_back(card):
    """And one that does not, in none."""
    page, warm_up = card(ROWS)
    colour = "e => getComputedStyle(e).color"
    red = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--bp-bwd')").strip()
    arrived, none = warm_up.locator(".bp-field").nth(0), warm_up.locator(".bp-field").nth(1)
    pressed(arrived)
    pressed(none)
    probe = f"e => (e.style.color = '{red}', getComputedStyle(e).color)"
    assert arrived.locator("button.lit").evaluate(colour) == warm_up.evaluate(probe)
    assert none.locator("button.lit").evaluate(colour) != warm_up.evaluate(probe)


def order(warm_up):
    """Return the order's field, and its things as the fold has them."""
    return warm_up.locator(".bp-order"), warm_up.locator(".bp-mistakes ol li strong").all_text_contents()


def test_an_order_is_pressed_by_the_keyboard_alone_and_becomes_a_line(card):
    """What comes too early stays where it is, and is told why."""
    page, warm_up = card(ORDERED)
    field, things = order(warm_up)
    line, verdict = field.locator(".bp-line li"), field.get_by_role("status")
    field.get_by_role("button", name=things[-1], exact=True).press("Enter")
    assert line.count() == 0
    assert "too late" in verdict.inner_text()
    for at, thing in enumerate(things):
        field.get_by_role("button", name=thing, exact=True).press("Enter")
        assert line.count() == at + 1
        left = field.get_by_role("button").count()
        assert not left or page.evaluate("document.activeElement.matches('.bp-order button')"), "where it goes on"
    assert line.all_text_contents() == things
    assert field.get_by_role("button").count() == 0


def test_guesses_are_kept_until_they_are_forgotten(card):
    """On another visit, beside the first; also half of an order. The fold is shut again."""
    page, warm_up = card(ORDERED)
    pressed(warm_up.locator(".bp-field").first)
    field, things = order(warm_up)
    for thing in things[:2]:
        field.get_by_role("button", name=thing, exact=True).click()
    kept = page.evaluate("Object.values(bookMemory.get('answers', {})[bookMemory.page] ?? {})")
    assert len(kept) == 1
    assert kept[0][-1].split("\n") == things[:2]

    def visit_again():
        again = page.context.new_page()
        again.goto(page.url)
        return again.locator(".bp-warm.ready").first

    again = visit_again()
    again.locator("button.lit").wait_for()  # one
    assert again.locator(".bp-line li").all_text_contents() == things[:2]
    assert again.locator("details").get_attribute("open") is None
    page.evaluate("bookMemory.forget()")
    again = visit_again()
    again.wait_for()
    assert again.locator("button.lit, .bp-line li").count() == 0


def test_a_finger_finds_the_buttons_on_a_phone(card):
    """Nothing is wider than the screen, and nothing lower than a finger needs."""
    page, warm_up = card(ORDERED, width=390)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert min(button.bounding_box()["height"] for button in warm_up.get_by_role("button").all()) >= 24


def test_without_a_script_and_on_paper_it_is_read(browser, build, card):
    """What can be chosen is a list, what is right stands in the fold; on paper the fold is open."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((build.html / f"{ROWS}.html").as_uri())
    warm_up = page.locator(".bp-warm").first
    assert warm_up.locator("li", has_text="96, added").first.is_visible()
    assert not warm_up.locator(".bp-mistakes").is_visible()
    warm_up.locator("summary").click()
    assert warm_up.locator(".bp-mistakes strong", has_text="96, added").is_visible()
    context.close()
    page, warm_up = card(ROWS)
    page.evaluate(
        "addEventListener('beforeprint', () => window.open_ = document.querySelector('.bp-warm details').open)"
    )
    page.pdf()
    assert page.evaluate("window.open_")
