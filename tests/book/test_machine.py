"""The backward() machine: its gradients, its words, and what a person does with it."""

import json
import math
import random
import re
import urllib.parse

import numpy as np
import pytest

from course_lib import autograd

USED_TWICE = "a = x**2\nc = a + 5*a"
EXPRESSIONS = 1000
FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "sigmoid")
LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}  # how tightly an operator binds


def link(text, inputs, machine="machine", **more):
    """Return what stands in the address after "#"."""
    fields = {"e": text, "i": inputs, **more}
    return urllib.parse.urlencode({f"{machine}.{key}": value for key, value in fields.items()})


@pytest.fixture
def machine(visit):
    """Open the machine's page with a state in its address."""

    def open_page(address="", **settings):
        page = visit("machine", **settings)
        if address:
            page.goto(f"{page.url.split('#')[0]}#{address}")
            page.reload()
        page.wait_for_selector(".bp-machine.ready")
        page.evaluate("document.querySelector('[data-part=stage]').focus()")
        return page

    return open_page


def part(page, name, *, of="machine"):
    """Return one part of a machine."""
    return page.locator(f'#{of} [data-part="{name}"]')


def digit(page, choice):
    """Return the key that gives this answer."""
    texts = part(page, "choices").locator("button").all_inner_texts()
    return str(1 + texts.index(choice))


def test_gradients_agree_with_the_engine_on_a_thousand_expressions(machine):
    """Made at random, with values that are used more than once; and so do the values."""
    programs = make_programs(EXPRESSIONS)
    found = machine().evaluate(
        """programs => programs.map(([text, inputs]) => {
            const { parse, forward, gradients } = backwardMachine, graph = parse(text);
            const found = gradients(graph, inputs), spell = number => String(number);
            return [spell(forward(graph, inputs)[graph.result]), Object.entries(found).map(([n, g]) => [n, spell(g)])];
        })""",
        programs,
    )
    used_again = compared = 0
    for (text, inputs), (value, grads) in zip(programs, found, strict=True):
        result, tensors = run_on_engine(text, inputs)
        expected = {name: tensor.grad.item() for name, tensor in tensors.items() if tensor.grad is not None}
        assert is_close(float(value), result), (text, inputs, value, result)
        assert {name for name, _ in grads} == set(expected), text
        for name, grad in grads:
            compared += math.isfinite(float(grad))
            assert is_close(float(grad), expected[name]), (text, inputs, name, grad, expected[name])
        used_again += "\n" in text
    assert compared > 1200  # most are numbers, and not all of them nan
    assert used_again > 500


def make_programs(count, seed=20):
    """Return the same programs each time."""
    rng = random.Random(seed)
    return [make_program(rng) for _ in range(count)]


def make_program(rng):
    """One to three lines; later ones mostly use the names of earlier ones. No more parentheses than Python needs."""
    names, lines = ["x", "y", "w"], []
    for name in "abc"[: rng.randint(1, 3)]:
        lines.append(f"{name} = {make_expression(rng, names, 2)[0]}")
        names += [name] * 4
    text, inputs = "\n".join(lines), {name: round(rng.uniform(-0.8, 2.2), 2) for name in "xyw"}
    computes = re.search(r"[-+*/(]", lines[-1].split(" = ")[1])
    return (text, inputs) if computes and depends_on_input(lines) else make_program(rng)


def depends_on_input(lines):
    """Whether the last line has something to differentiate."""
    tracked = {"x", "y", "w"}
    for line in lines:
        name, expression = line.split(" = ")
        if tracked & set(re.findall(r"\b[a-z]\b", expression)):
            tracked.add(name)
    return name in tracked


def make_expression(rng, names, depth):
    """Return text and how tightly its outermost operator binds."""
    kind = rng.random() if depth else 0
    if kind < 0.25:
        return (rng.choice(["2", "3", "0.5", "5"]), 5) if rng.random() < 0.2 else (rng.choice(names), 5)
    left = make_expression(rng, names, depth - 1)
    if kind < 0.45:
        return f"{rng.choice(FUNCTIONS)}({left[0]})", 5
    if kind < 0.52:
        return f"-{wrap(left, 3)}", 3
    if kind < 0.64:
        return f"{wrap(left, 5)}**{rng.choice(['2', '3', '0.5', '-1'])}", 4
    right = make_expression(rng, names, depth - 1)
    sign = rng.choice(["+", "+", "-", "*", "*", "/", "**"])
    level = LEVELS[sign]
    if sign == "**":
        return f"{wrap(left, 5)}**{wrap(right, 3)}", level
    return f"{wrap(left, level)} {sign} {wrap(right, level + 1)}", level


def wrap(expression, level):
    """Put parentheses where Python needs them."""
    text, own = expression
    return f"({text})" if own < level else text


def run_on_engine(text, inputs):
    """Return the last line's value, and the leaves with their gradients."""
    tensors = {n: autograd.tensor(value, dtype=autograd.float64, requires_grad=True) for n, value in inputs.items()}
    scope = {name: take_numbers(getattr(autograd, name)) for name in FUNCTIONS} | tensors
    with np.errstate(all="ignore"):  # the logarithm of a negative number is nan here as there
        exec(text, scope)
        result = scope[text.split("\n")[-1].split(" = ")[0]]
        result.backward()
    return result.item(), tensors


def take_numbers(function):
    """Let a function of tensors take a number too."""
    return lambda value: function(
        autograd.tensor(value, dtype=autograd.float64) if isinstance(value, float | int) else value
    )


def is_close(a, b):
    """Whether they are the same number, or both nan or infinite alike."""
    return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def test_the_words_of_each_rule_say_its_number(machine):
    """They are Python: evaluated, with the values by name, they are the local derivative that was multiplied by."""
    found = machine().evaluate(
        """programs => programs.map(([text, inputs]) => {
            const { parse, forward, backward, tell } = backwardMachine, graph = parse(text);
            const values = forward(graph, inputs), steps = backward(graph, values);
            const named = graph.nodes.filter(n => n.name).map(n => [n.name, String(values[n.id])]);
            const sent = steps.filter(step => step.kind === "send");
            return [named, sent.map(step => [step.rule, String(step.local), tell(step, graph).rule])];
        })""",
        make_programs(300),
    )
    seen = set()
    for names, rules in found:
        scope = {name: getattr(np, name) for name in FUNCTIONS if hasattr(np, name)}
        scope |= {"relu": lambda a: np.maximum(a, 0), "sigmoid": lambda a: 1 / (1 + np.exp(-a))}
        scope |= {name: np.float64(value) for name, value in names}
        for words, local, told in rules:
            assert f" {words} = " in told
            with np.errstate(all="ignore"):
                said = float(
                    eval(
                        re.sub(r"(?<![\w.])(\d+\.?\d*)(?![\w.])", r"float64(\1)", words),
                        scope | {"float64": np.float64},
                    )
                )
            if math.isfinite(said) and "NaN" not in dict(names).values():
                assert is_close(said, float(local)), (words, names, local)
                seen.add(re.sub(r"\b[a-z]\d?\b|[\d.]+", "_", words))
    assert len(seen) > 40, seen


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
    page.wait_for_function("location.hash.includes('machine.o=')")
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
    assert "missing" in part(page, "complaint").inner_text()
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


def test_it_fits_and_is_quiet_at_every_width(machine):
    """From file://, with each example, nothing spills out of its box, the figure or the page; nothing is logged."""
    page = machine()
    assert page.url.startswith("file:")
    for width in (360, 390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        for example in part(page, "example").locator("option").all()[:-1]:
            part(page, "example").select_option(example.get_attribute("value"))
            part(page, "stage").focus()
            page.keyboard.press("End")
            at = (width, example.inner_text())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), at
            assert part(page, "stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth"), at
            assert page.evaluate(SPILLED) == [], at
    assert page.troubles == []


SPILLED = """[...document.querySelectorAll(".node")].flatMap(node => {
  const box = node.querySelector("rect").getBoundingClientRect();
  const isOut = text => (r => r.left < box.left || r.right > box.right)(text.getBoundingClientRect());
  return [...node.querySelectorAll("text")].filter(isOut).map(text => text.textContent);
})"""


def test_it_plays_and_is_still_for_those_who_ask_for_it(build, open_file):
    """With reduced motion the walk goes on by itself, and nothing moves."""
    page = open_file(build.html / "machine.html", alone=False, reduced_motion="reduce")
    part(page, "play").click()
    page.wait_for_function("document.querySelector('[data-part=count]').textContent.startsWith('2 of')")
    part(page, "play").click()
    assert page.evaluate("document.getAnimations().length") == 0


def test_without_javascript_it_is_a_picture_and_a_table(build, open_file):
    """By the course's own engine, with the same numbers; and nothing is there that does not work."""
    page = open_file(build.html / "machine.html", alone=False, java_script_enabled=False)
    still = page.locator("#machine")
    assert "x = 2" in still.locator("table").inner_text()
    assert "2.584" in still.locator("table").inner_text()  # y + cos(x)
    assert still.locator("svg[role=img]").is_visible()
    assert still.locator("button, input, select, textarea").count() == 0


def test_paper_shows_the_end_of_the_walk(machine):
    """And all numbers, and no buttons; afterwards it is where it was."""
    page = machine()
    page.evaluate(
        "addEventListener('beforeprint', () => window.printed = document.querySelector('#machine').innerText)"
    )
    page.emulate_media(media="print")
    page.pdf()
    printed = page.evaluate("window.printed")
    assert "x.grad = 2.58" in printed
    assert "sin(x)" in printed
    assert not part(page, "next").is_visible()
    page.emulate_media(media="screen")
    assert part(page, "count").inner_text() == "0 of 7"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_colours_can_be_read(machine, scheme):
    """Each text of the graph and of the dock stands out from what is behind it by 4.5 to 1."""
    page = machine(link(USED_TWICE, "x:3", depthfirst=1), scheme=scheme)
    page.keyboard.press("End")
    low = json.loads(page.evaluate(CONTRAST))
    assert low == []


CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const linear = c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(c => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const style = element => getComputedStyle(element), low = [];
  for (const text of document.querySelectorAll(".bp-machine .node text, .bp-machine .pill.sent text"))
    low.push([text.textContent, ratio(style(text).fill, style(text.parentNode.querySelector("rect")).fill)]);
  for (const text of document.querySelectorAll(".bp-machine .told p"))
    low.push([text.textContent, ratio(style(text).color, style(text.parentNode).backgroundColor)]);
  return JSON.stringify(low.filter(([text, ratio]) => text && ratio < 4.5));
})()"""
