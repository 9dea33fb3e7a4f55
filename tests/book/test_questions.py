"""A question takes an answer, says what the mistake was, and remembers it."""

import pytest

PAGE = "chapters/mechanics/what_backward_does"


@pytest.fixture
def question(visit):
    """Open the first page; return it with its fourth question, a number, and the fold below."""
    page = visit(PAGE)
    return page, page.get_by_role("form", name="Question 4"), page.locator("details.bp-answer").nth(3)


def test_a_wrong_number_is_told_its_own_mistake_and_a_right_one_opens_the_answer(question):
    """The fold stays shut for another try; a changed answer has no verdict yet."""
    page, form, fold = question
    field, verdict = form.get_by_role("textbox", name="Your answer"), form.get_by_role("status")
    told = []
    for wrong in ("48", "40"):
        field.fill(wrong)
        assert verdict.inner_text() == ""
        field.press("Enter")
        told.append(verdict.inner_text())
    assert len(set(told)) == 2
    assert all(len(text) > 50 and "Right" not in text for text in told)
    assert not fold.locator("p").first.is_visible()
    field.fill("8")
    form.get_by_role("button", name="Check").click()
    assert "Right" in verdict.inner_text()
    assert fold.locator("p").first.is_visible()
    assert page.troubles == []


@pytest.mark.parametrize("written", ["8.0", "16/2", "2^3", "2**(1+2)", "1,000 - 992", "\u2212-8", "8e0", "2\u00b74"])
def test_a_number_may_be_written_as_people_do(question, written):
    """As a fraction, a power, or with a minus that is a dash."""
    _, form, _ = question
    form.get_by_role("textbox").fill(written)
    form.get_by_role("button").click()
    assert "Right" in form.get_by_role("status").inner_text()


@pytest.mark.parametrize("written", ["", "eight", "8 8", "0,8", "(8", "8 apples"])
def test_what_is_no_number_is_not_judged(question, written):
    """The browser says what is wanted."""
    _, form, _ = question
    form.get_by_role("textbox").fill(written)
    form.get_by_role("button").click()
    assert form.get_by_role("status").inner_text() == ""
    assert not form.get_by_role("textbox").evaluate("e => e.checkValidity()")


def test_each_choice_is_told_its_own_mistake_by_the_keyboard_alone(visit):
    """What the fold says of each, in its order."""
    page = visit(PAGE)
    form = page.get_by_role("form", name="Question 3")
    radios, told = form.get_by_role("radio"), []
    radios.first.focus()
    page.keyboard.press("Space")
    for _ in range(radios.count()):
        page.keyboard.press("Enter")
        told.append(form.get_by_role("status").inner_text())
        page.keyboard.press("ArrowDown")
    mistakes = page.locator("details.bp-answer").nth(2).locator(".bp-mistakes li").all_text_contents()
    wrong = [text.removeprefix("Not yet. ") for text in told if not text.startswith("Right")]
    assert len(wrong) == len(mistakes) == radios.count() - 1
    assert all(mistake.endswith(text) for mistake, text in zip(mistakes, wrong, strict=True))


def test_answers_are_remembered_until_they_are_forgotten_with_what_was_read(question):
    """On the next visit the answer is there, and what it was, but the fold is shut."""
    page, form, fold = question
    page.get_by_role("form", name="Question 3").get_by_role("radio").nth(1).check()
    page.get_by_role("form", name="Question 3").get_by_role("button").click()
    form.get_by_role("textbox").fill("8")
    form.get_by_role("button").click()
    page.reload()
    assert form.get_by_role("textbox").input_value() == "8"
    assert "Right" in form.get_by_role("status").inner_text()
    assert fold.get_attribute("open") is None
    assert page.get_by_role("form", name="Question 3").get_by_role("radio").nth(1).is_checked()
    page.goto(page.url.replace(PAGE, "intro"))
    page.locator(".bp-forget").click()
    assert not page.locator(".bp-forget").is_visible()
    page.go_back()
    assert form.get_by_role("textbox").input_value() == ""


def test_on_paper_answers_are_open_and_there_is_nothing_to_fill(visit):
    """Afterwards they are shut again."""
    page = visit(PAGE)
    seen = "() => window.printed = [...document.querySelectorAll('.bp-answer')].every(fold => fold.open)"
    page.evaluate(f"addEventListener('beforeprint', {seen})")
    page.pdf()
    assert page.evaluate("window.printed")
    assert page.locator(".bp-answer[open]").count() == 0
    page.emulate_media(media="print")
    assert [e for e in page.locator(".bp-question :is(input, button)").all() if e.is_visible()] == []
    assert page.get_by_role("form", name="Question 3").get_by_text("They double").is_visible()


def test_without_a_script_a_question_is_read_and_its_answer_unfolded(browser, build):
    """The choices are a list, none of them marked, and what each mistake was is in the fold."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((build.html / f"{PAGE}.html").as_uri())
    assert page.locator(".bp-choice li", has_text="They double").is_visible()
    assert [box for box in page.locator(".bp-number").all() if box.is_visible()] == []
    fold = page.locator("details.bp-answer").nth(2)
    assert not fold.locator(".bp-mistakes").is_visible()
    fold.locator("summary").click()
    assert fold.locator(".bp-mistakes").is_visible()
    context.close()
