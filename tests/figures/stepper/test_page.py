"""The figure as it is read: in Chromium, from a file."""

import pytest

import course_lib.autograd
from course_lib.figures import backward_stepper, graph

STEPS = 5


@pytest.fixture
def engine():
    """One engine is enough here: the page does not know which it was."""
    return course_lib.autograd


@pytest.fixture
def figure(waits):
    return backward_stepper(waits.c, names=waits.names, title="A node that waits")


def now(page, i=0):
    """Return the step that is seen: its number, its heading and the nodes that are marked."""
    stepper = page.locator("bp-stepper").nth(i)
    heading = [head.inner_text() for head in stepper.locator(".bp-head").all() if head.is_visible()]
    marked = stepper.locator(".bp-box.now text").all_text_contents()
    return stepper.locator(".bp-bar a").inner_text(), heading, marked[:1]


def seen(page):
    """Return the words in the drawing that are visible, by what the browser computes."""
    visible = "e => getComputedStyle(e).visibility === 'visible'"
    return [text.text_content() for text in page.locator("svg text").all() if text.evaluate(visible)]


def test_keys_step_through_it(see, figure):
    """Right, Left, End and Home; at the ends they stay; other keys and shortcuts are left to the browser."""

    def drive(page):
        page.get_by_role("button", name="Next").focus()
        states = [now(page)]
        for key in (
            "ArrowRight",
            "ArrowRight",
            "ArrowLeft",
            "End",
            "ArrowRight",
            "Home",
            "ArrowLeft",
            "a",
            "Shift+End",
        ):
            page.keyboard.press(key)
            states.append(now(page))
        return states, page.troubles

    states, troubles = see([figure], drive)
    assert [number for number, _, _ in states] == [
        f"Step {n} of {STEPS}" for n in (1, 2, 3, 2, STEPS, STEPS, 1, 1, 1, 1)
    ]
    assert states[0][1:] == (["The seed"], [])
    assert states[2][1:] == (["b = a * 5"], ["b = a * 5 = 45"])
    assert states[4][1:] == (["x = 3"], ["x = 3"])
    assert troubles == []


def test_buttons_step_through_it_and_keep_the_focus(see, figure):
    """At the end, Next says that it does nothing, and the keys still work from it."""

    def drive(page):
        press = {name: page.get_by_role("button", name=name) for name in ("First", "Back", "Next", "Last")}
        off = [[name for name, b in press.items() if b.get_attribute("aria-disabled") == "true"]]
        for name in ("Next", "Last", "Back", "Next", "Next"):
            press[name].click(force=True)  # Playwright would wait for aria-disabled to go
        off.append([name for name, b in press.items() if b.get_attribute("aria-disabled") == "true"])
        focused = page.evaluate("document.activeElement.textContent")
        page.keyboard.press("Home")
        return off, focused, now(page)[0]

    assert see([figure], drive) == ([["First", "Back"], ["Next", "Last"]], "Next", f"Step 1 of {STEPS}")


def test_a_step_is_announced(see, figure):
    """Politely, in whole sentences, and not before the reader has done anything."""

    def drive(page):
        region = page.locator("[aria-live=polite]")
        before = region.text_content()
        page.get_by_role("button", name="Next").press("ArrowRight")
        return before, region.text_content()

    assert see([figure], drive) == (
        "",
        "Step 2 of 5. c = a + b. Arrives: v = 1. Rule: v to a and v to b. Sends: 1 to a and 1 to b. "
        "Adds up: a holds 1 and waits for 1 more. Frees: nothing; this rule needs no value of the forward pass.",
    )


def test_gradients_appear_when_they_arrive(see, figure):
    """The waiting node shows what is missing, then the sum; the leaf's gradient is None until its turn."""

    def drive(page):
        states = []
        for _ in range(STEPS):
            states.append(seen(page))
            page.get_by_role("button", name="Next").press("ArrowRight")
        return states

    states = see([figure], drive)
    assert ["v = 1 + ?" in words for words in states] == [False, True, False, False, False]
    assert ["v = 1 + 5 = 6" in words for words in states] == [False, False, True, True, True]
    assert ["grad = None" in words for words in states] == [True, True, True, True, False]
    assert ["36" in words for words in states] == [False, False, False, True, True]


def test_a_node_can_be_chosen(see, figure):
    """A click on its box goes to its step."""

    def drive(page):
        page.locator(".bp-box", has_text="a = x ** 2 = 9").click()
        return now(page)

    assert see([figure], drive) == (f"Step 4 of {STEPS}", ["a = x ** 2"], ["a = x ** 2 = 9"])


def test_a_node_is_marked_at_each_of_its_visits(see, waits):
    """A depth-first walk comes back to c; a click on it goes to the first visit."""

    def drive(page):
        page.get_by_role("button", name="Next").focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        states = [now(page)]
        page.locator(".bp-box", has_text="c = a + b").click()
        return [*states, now(page)]

    figure = backward_stepper(waits.c, names=waits.names, depth_first=True)
    assert see([figure], drive) == [
        ("Step 5 of 6", ["Back at c = a + b"], ["c = a + b = 54"]),
        ("Step 2 of 6", ["c = a + b"], ["c = a + b = 54"]),
    ]


def test_several_on_a_page_keep_to_themselves(see, figure, waits):
    """Each is defined once, steps alone, and only the focused one hears the keys."""

    def drive(page):
        page.get_by_role("button", name="Next").nth(1).press("End")
        return now(page, 0)[0], now(page, 1)[0], page.locator(".bp-bar").count(), page.troubles

    other = backward_stepper(waits.a, names=waits.names)
    assert see([figure, graph(waits.c), other], drive) == (f"Step 1 of {STEPS}", "Step 3 of 3", 2, [])


def test_the_page_around_it_does_not_hear_its_keys(see, figure):
    """A notebook has uses for arrow keys, too; it hears the others."""

    def drive(page):
        page.evaluate("heard = []; document.addEventListener('keydown', (event) => heard.push(event.key))")
        for key in ("ArrowRight", "End", "a"):
            page.get_by_role("button", name="Next").press(key)
        return page.evaluate("heard")

    assert see([figure], drive) == ["a"]


def test_a_page_that_was_saved_as_shown_still_works(see, figure):
    """The buttons that came with it are replaced by ones that do something."""

    def drive(page):
        page.set_content(page.content())
        page.get_by_role("button", name="Next").press("ArrowRight")
        return now(page)[0], page.locator(".bp-bar").count()

    assert see([figure], drive) == (f"Step 2 of {STEPS}", 1)


def test_a_figure_that_comes_later_works_too(see, figure):
    """As in a notebook, where the page is complete before the figure is put in; and moved, it stays as it is."""

    def drive(page):
        page.evaluate("document.body.append(document.querySelector('.bp-figure').cloneNode(true))")
        page.get_by_role("button", name="Next").nth(1).press("ArrowRight")
        page.evaluate("document.body.prepend(document.querySelectorAll('bp-stepper')[1])")
        return now(page, 0)[0], now(page, 1)[0], page.locator(".bp-bar").count()

    assert see([figure], drive) == (f"Step 2 of {STEPS}", f"Step 1 of {STEPS}", 2)


def test_without_a_script_all_of_it_can_be_read(see, figure):
    """The graph with all its gradients, and the list of the steps; no button that does nothing."""

    def drive(page):
        items = page.locator("ol > li")
        return [item.is_visible() for item in items.all()], seen(page), page.locator("button").count()

    visible, words, buttons = see([figure], drive, java_script_enabled=False)
    assert (visible, buttons) == ([True] * STEPS, 0)
    assert {"v = 1 + 5 = 6", "grad = 36", "36", "5"} <= set(words)
    assert not {"v = 1 + ?", "grad = None"} & set(words)


def test_on_paper_it_is_the_whole_graph_with_all_its_steps(see, figure):
    """Whatever step the reader was at; and no buttons."""

    def drive(page):
        page.emulate_media(media="print")
        steps = [item.is_visible() for item in page.locator("ol > li").all()]
        return steps, seen(page), page.locator("button").first.is_visible()

    visible, words, buttons = see([figure], drive)
    assert (visible, buttons) == ([True] * STEPS, False)
    assert {"v = 1 + 5 = 6", "grad = 36", "36", "5"} <= set(words)
    assert not {"v = 1 + ?", "grad = None", "PowBackward0"} & set(words)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(see, figure, contrast, scheme):
    """Words have a contrast of 4.5, and lines and the mark of the current node 3, on the page's own ground."""

    def drive(page):
        page.get_by_role("button", name="Next").press("ArrowRight")
        style = "([s, p]) => getComputedStyle(document.querySelector(s))[p]"
        look = {
            "page": ("body", "backgroundColor"),
            "words": ("bp-stepper dd", "color"),
            "button": ("bp-stepper button", "color"),
            "label": (".bp-box text", "fill"),
            "number": (".bp-pill text", "fill"),
            "pill": (".bp-pill rect", "fill"),
            "line": ("svg path", "stroke"),
            "mark": (".bp-box.now rect", "stroke"),
        }
        colours = {name: page.evaluate(style, list(where)) for name, where in look.items()}
        return {n: "rgb(255,255,255)" if c == "rgba(0, 0, 0, 0)" else c for n, c in colours.items()}

    colours = see([figure], drive, color_scheme=scheme)
    assert all(contrast(colours[name], colours["page"]) >= 4.5 for name in ("words", "label", "button"))
    assert contrast(colours["number"], colours["pill"]) >= 4.5
    assert all(contrast(colours[name], colours["page"]) >= 3 for name in ("line", "mark", "pill"))


def test_the_focus_can_be_seen(see, figure):
    """On the buttons and on the drawing."""

    def drive(page):
        outlines = []
        for _ in range(7):
            page.keyboard.press("Tab")
            outlines.append(
                page.evaluate("[document.activeElement, 0].map(e => e && getComputedStyle(e).outlineWidth)[0]")
            )
        return outlines

    assert see([figure], drive) == ["3px"] * 7


def test_a_phone_shows_it_at_a_legible_size(see, figure, engine):
    """At 390 pixels all text is at least 11 high, and a wide drawing scrolls in itself, never the page."""
    leaves = [engine.tensor(float(i), requires_grad=True) for i in range(5)]
    wide = backward_stepper(sum(x * x for x in leaves), names={f"a_long_name_{i}": x for i, x in enumerate(leaves)})

    def drive(page):
        sizes = page.evaluate(
            """[...document.querySelectorAll('svg text')].map(t =>
            parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a)"""
        )
        page.get_by_role("button", name="Next").nth(1).press("End")
        return min(sizes), page.evaluate("document.documentElement.scrollWidth")

    smallest, width = see([figure, wide], drive, width=390, reduced_motion="reduce")
    assert smallest >= 11
    assert width <= 390


def test_the_graph_of_a_line_fits_on_a_phone(see, engine):
    """Two boxes side by side, one with a formula: nothing of it is to be scrolled for, and no word leaves its box."""
    w, c = (engine.tensor(0.0, requires_grad=True) for _ in range(2))
    line = w * engine.tensor([1.0, 2.0]) + c
    error = line - engine.tensor([3.0, 5.0])
    names = {"w": w, "c": c, "line": line, "error": error}

    def drive(page):
        fits = page.evaluate("[document.querySelector('.bp-graph')].map(e => e.scrollWidth <= e.clientWidth)[0]")
        return fits, page.evaluate(
            """[...document.querySelectorAll('.bp-box')].flatMap(g => [...g.querySelectorAll('text')].map(t => {
            const [a, b] = [t, g.querySelector('rect')].map(e => e.getBoundingClientRect());
            return Math.min(a.left - b.left, b.right - a.right) }))"""
        )

    fits, room = see([backward_stepper((error**2).mean(), names=names)], drive, width=390)
    assert fits
    assert min(room) > 3


def test_the_drawing_follows_the_walk_and_the_page_stays(see, engine):
    """In a tall graph the current node is scrolled into view, inside the figure."""
    y = engine.tensor(1.0, requires_grad=True)
    for _ in range(24):
        y = y * 2.0

    def drive(page):
        inside = """() => {
            const [a, b] = [".bp-box.now", ".bp-graph"].map((s) => document.querySelector(s).getBoundingClientRect());
            return a.top >= b.top && a.bottom <= b.bottom }"""
        found = []
        for key in ("ArrowRight", "End", "ArrowLeft", "ArrowLeft"):
            page.get_by_role("button", name="Next").first.press(key)
            found.append((page.evaluate(inside), page.evaluate("scrollY")))
        return found

    assert see([backward_stepper(y)] * 3, drive, reduced_motion="reduce") == [(True, 0)] * 4


@pytest.mark.parametrize(("wish", "moves"), [("reduce", False), ("no-preference", True)])
def test_nothing_moves_for_those_who_wish_it_so(see, figure, wish, moves):
    """The flow along an arrow is drawn at once."""

    def drive(page):
        page.get_by_role("button", name="Next").press("ArrowRight")
        return page.evaluate("getComputedStyle(document.querySelector('.bp-flow.now')).animationName")

    assert (see([figure], drive, reduced_motion=wish) != "none") == moves


def test_nothing_jumps_as_the_steps_change(see, figure):
    """The figure keeps its height and the words their place, under the buttons."""

    def drive(page):
        places = set()
        for _ in range(STEPS):
            height = page.locator("bp-stepper").bounding_box()["height"]
            places.add((height, page.locator("li.now").bounding_box()["y"]))
            page.get_by_role("button", name="Next").press("ArrowRight")
        bar = page.locator(".bp-bar").bounding_box()
        ((_, top),) = places
        return 0 <= top - bar["y"] - bar["height"] < 30

    assert see([figure], drive)


def test_a_link_leads_to_a_step(see, figure):
    """Of the figure that it names, which is scrolled into view; other anchors are left alone."""

    def drive(page):
        address = page.locator(".bp-bar a").nth(1).evaluate("e => e.href").removesuffix("1") + "3"
        page.goto("about:blank")
        page.goto(address)
        states = [now(page, 0)[0], now(page, 1)[0]]
        page.evaluate("location.hash = '#elsewhere'")
        top = page.locator("bp-stepper").nth(1).bounding_box()["y"]
        return [*states, now(page, 1)[0]], 0 <= top < 844

    assert see([figure, figure], drive) == (["Step 1 of 5", "Step 3 of 5", "Step 3 of 5"], True)


def test_a_number_can_be_predicted_before_it_shows(see, figure):
    """Neither the words nor the drawing give it away; the guess is judged, and then everything is there."""

    def drive(page):
        def words():
            return " ".join([*seen(page), *(e.inner_text() for e in page.locator("dd").all() if e.is_visible())])

        page.get_by_role("button", name="Predict").click()
        said = []
        for guess in ("6", "36"):
            page.get_by_role("button", name="Next").press("Home")
            for _ in range(3):
                page.get_by_role("button", name="Next").click()
            said.append("36" in words())
            page.get_by_label("What does it send to x?").fill(guess)
            page.keyboard.press("Enter")
            said += [page.locator(".bp-ask").inner_text() == "Right.", "36" in words()]
        return said, page.troubles

    assert see([figure], drive) == ([False, False, True, False, True, True], [])


def test_on_a_phone_the_buttons_stay_in_view(see, engine):
    """While any of a figure taller than the screen is seen."""
    y = engine.tensor(1.0, requires_grad=True)
    for _ in range(12):
        y = y * 2.0

    def drive(page):
        bar = "document.querySelector('.bp-bar').getBoundingClientRect()"
        seen = f"(e) => {{ scrollTo(0, e); const bar = {bar}; return bar.top >= 0 && bar.bottom <= innerHeight }}"
        return [page.evaluate(seen, y) for y in (0, 40, 120)]

    assert see([backward_stepper(y)], drive, width=390) == [True] * 3
