"""The backward() machine, and what a person does with it."""

import re

from tests.book.machine_parts import USED_TWICE, digit, link, part


def test_the_keyboard_alone_walks_there_and_back(machine):
    """Arrow keys from the graph; what happens is said, written into the table, and told to a screen reader."""
    page = machine(link(USED_TWICE, "x:3"))
    rules = ["v = dc/dc = 1", "v * 1 = 1 * 1 = 1", "v * 1 = 1 * 1 = 1", "v * 5 = 1 * 5 = 5", "v = 1 + 5 = 6"]
    for rule in [*rules, "v * 2*x = 6 * 6 = 36"]:
        page.keyboard.press("ArrowRight")
        assert part(page, "rule").inner_text() == rule
    assert part(page, "end").inner_text() == "Done: x.grad = 36."
    assert "36" in page.locator("#machine tbody").text_content()
    page.keyboard.press("ArrowLeft")
    assert part(page, "rule").inner_text() == "v = 1 + 5 = 6"
    page.wait_for_function("document.querySelector('[data-part=live]').textContent.includes('a has its turn')")
    page.keyboard.press("Home")
    assert part(page, "count").inner_text() == "0 of 6"
    page.keyboard.press("End")
    assert part(page, "count").inner_text() == "6 of 6"


def test_every_control_is_reached_by_tab_and_has_a_name(machine):
    """Nothing needs a mouse."""
    page = machine(link(USED_TWICE, "x:3", predict=1))
    page.keyboard.press("ArrowRight")
    part(page, "example").focus()
    stops = []
    for _ in range(30):
        stops.append(page.evaluate("(e => e.dataset.part ?? e.dataset.answer ?? e.type)(document.activeElement)"))
        page.keyboard.press("Tab")
    stops = stops[: stops.index("link") + 1]
    for name in [
        "predict",
        "text",
        "range",
        "stage",
        "guess",
        "submit",
        "back",
        "next",
        "restart",
        "depthFirst",
        "keep",
    ]:
        assert name in stops
    snapshot = page.locator("#machine").aria_snapshot()
    for name in ['region "The backward() machine"', 'combobox "Example"', 'checkbox "Predict"', 'slider "x', "img"]:
        assert name in snapshot, snapshot
    assert not re.search(r"- (button|checkbox|slider|textbox)(:|$)", snapshot, re.MULTILINE), "without a name"


def test_predict_asks_keeps_score_and_names_a_mistake(machine):
    """A round by keyboard: numbers by digit or typed, and the node that goes next."""
    page = machine(link(USED_TWICE, "x:3", predict=1), width=390)
    page.keyboard.press("Enter")  # no button yet
    part(page, "next").focus()
    page.keyboard.press("Enter")  # the seed
    for right in ["1", "1"]:
        page.keyboard.press(digit(page, right))
    assert part(page, "ask").inner_text() == "Which node goes next?"
    page.keyboard.press(digit(page, "a"))
    assert "still waits for the gradient from 5*a" in part(page, "verdict").inner_text()
    page.keyboard.press(digit(page, "5*a"))
    page.keyboard.press(digit(page, "5"))
    assert "1 + 5 = ?" in page.locator("#machine svg").text_content()
    page.keyboard.press(digit(page, "5"))  # where two paths meet
    assert "forgot to add the other path" in part(page, "verdict").inner_text()
    part(page, "guess").focus()
    page.keyboard.type("6")
    page.keyboard.press("Enter")
    assert part(page, "head").inner_text().startswith("Right!")
    for wrong, words in [("6", "are both 6"), ("-36", "wrong sign"), ("12", "added v and"), ("36", "")]:
        page.keyboard.press("Control+A")
        page.keyboard.type(wrong)
        page.keyboard.press("Enter")
        assert words in part(page, "verdict").inner_text()
    assert part(page, "score").inner_text() == "3 of 6 right"
    assert part(page, "end").inner_text() == "Done: x.grad = 36. You predicted 3 of 6."
    assert page.evaluate("document.activeElement.dataset.part") == "next", "the focus is not lost with the question"


def test_a_node_is_chosen_in_the_graph_and_the_walk_follows(machine):
    """Of two nodes that are ready either is right, and the order chosen is the one that is walked and sent."""
    page = machine(link("a = x*x\nb = a*y\nc = a*w\nd = b + c", "x:2,y:3,w:1", predict=1, s=3))
    assert part(page, "ask").inner_text() == "Which node goes next?"
    for wrong_or_right, at in [("a", "3 of 13"), ("b", "4 of 13")]:
        page.locator(".candidate", has_text=f"{wrong_or_right} = ").click()
        assert part(page, "count").inner_text() == at
    assert part(page, "head").inner_text() == "Right! b goes next"
    part(page, "next").click()
    assert part(page, "head").inner_text().startswith("b = a*y sends")
    page.wait_for_function("location.hash.includes('machine.s=5') && location.hash.includes('machine.o=')")
    page.reload()
    assert part(page, "head").inner_text().startswith("b = a*y sends")


def test_the_wrong_order_and_stale_gradients_are_called_wrong(machine):
    """Each of the two switches leads to another number, which is said."""
    page = machine(link(USED_TWICE, "x:3"))
    part(page, "depthFirst").check()
    part(page, "stage").focus()
    page.keyboard.press("End")
    assert part(page, "end").inner_text() == "Done, and wrong: x.grad is 6, should be 36."
    assert "✗" in page.locator(".leaf").text_content()
    assert "1 (late: 5)" in page.locator("#machine svg").text_content()  # and not 1 + 5, which the walk did not use
    part(page, "depthFirst").uncheck()
    part(page, "keep").check()
    assert "nobody called zero_grad()" in part(page, "note").inner_text()
    part(page, "stage").focus()
    page.keyboard.press("End")
    assert part(page, "end").inner_text() == "Done, and wrong: x.grad is 72, should be 36."


def test_an_input_is_dragged_by_mouse_finger_and_slider(machine):
    """The values follow at once."""
    page = machine(link("z = x**2 + y**3", "x:2,y:3"), width=390)
    box = page.locator(".leaf").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=4)
    page.mouse.up()
    assert part(page, "rule").inner_text() == "z = 36"  # x from 2 to 3
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    points = [("touchStart", 0), *(("touchMove", 10 * i) for i in range(1, 5))]
    for kind, at in points:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x + at, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("document.querySelector('[data-part=rule]').textContent === 'z = 43'")
    page.locator("[data-input=y] input").focus()
    page.keyboard.press("ArrowRight")
    assert part(page, "rule").inner_text() == "z = 45.8"
    page.wait_for_function("location.hash.includes('y%3A3.1')")


def test_the_address_brings_back_what_was_seen(machine):
    """Expression, inputs, step and switches; and whoever goes to a heading finds the page as it was."""
    page = machine(link("z = x*y + sin(x)", "x:1.5,y:3", s=4, keep=1, held="x:3,y:2"))
    shown = part(page, "told").inner_text(), page.locator("#machine svg").inner_html()
    part(page, "next").click()
    part(page, "back").click()
    page.wait_for_function("location.hash.includes('machine.s=4')")
    page.reload()
    page.wait_for_selector(".bp-machine.ready")
    assert (part(page, "told").inner_text(), page.locator("#machine svg").inner_html()) == shown
    assert part(page, "keep").is_checked()
    page.goto(page.url.split("#")[0] + "#" + link("((", "x:nan", s="zz", held="q", o="a,9"))
    part(page, "complaint").filter(has_text="missing").wait_for()  # a page hears of an address after it is there
    assert part(page, "walk").evaluate("walk => walk.inert")
    part(page, "text").fill("z = x^2")
    assert part(page, "complaint").inner_text().endswith("For a power write **, as in x**2.")
    part(page, "text").fill("z = x**2")
    assert page.locator(".node").count() == 2
    fresh = machine()
    fresh.evaluate("location.hash = 'three-things-to-try'")
    fresh.wait_for_timeout(400)
    assert fresh.url.endswith("#three-things-to-try")
    assert fresh.troubles == []


def test_an_address_that_somebody_goes_to_wins_over_one_that_is_saved_meanwhile(machine):
    """A page hears of an address after it is there; what a machine saves in between must not undo it."""
    page = machine(link(USED_TWICE, "x:3"))
    page.evaluate(
        "given => { const own = location.href; location.hash = given; history.replaceState(null, '', own) }",
        link("z = x**2", "x:5"),
    )
    part(page, "rule").filter(has_text="z = 25").wait_for()
    assert page.evaluate("location.hash").endswith("machine.i=x%3A5")


def test_two_machines_on_a_page_do_not_mind_each_other(build, open_file, tmp_path):
    """Each has its keys, its part of the address and ids of its own."""
    static = build.html / "_static"
    made = (build.html / "machine.html").read_text("utf-8")
    one = re.search(r'<div id="machine".*?</table></div></div>', made, re.DOTALL)[0]
    other = one.replace('id="machine"', 'id="other"').replace("x*y", "y*y")
    page_file = static / "two_machines.html"
    page_file.write_text(f'<html><body>{one}{other}<script src="machine.js"></script></body></html>', "utf-8")
    page = open_file(page_file, alone=False)
    assert page.locator(".bp-machine.ready").count() == 2
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids)) >= 4
    part(page, "stage", of="other").focus()
    page.keyboard.press("ArrowRight")
    assert part(page, "count", of="other").inner_text().startswith("1 of")
    assert part(page, "count").inner_text().startswith("0 of")
    part(page, "next").click()
    part(page, "next").click()
    page.wait_for_function("location.hash.includes('machine.s=2') && location.hash.includes('other.s=1')")
    page.reload()
    counts = [part(page, "count", of=name).inner_text()[0] for name in ("machine", "other")]
    assert counts == ["2", "1"]
    assert page.troubles == []
    page_file.unlink()
