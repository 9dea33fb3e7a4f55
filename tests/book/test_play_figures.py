"""What each figure to play with argues, seen by playing with it."""

import re

import numpy as np
import pytest

from course_lib.profiling import memory_timeline
from tests.book.play_parts import drag_by_finger, load_figure


def test_the_learning_rate_is_dragged_past_its_border(figure):
    """By slider and by finger; the address brings the state back, and the button the start."""
    page = figure("learning-rate", width=390)
    said, rate = page.root.locator("[data-part=said]"), page.root.get_by_label("Learning rate")
    rate.focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert said.text_content() == "η = 0.21 is past 2/λ = 0.2: across grows by 1.1 a step; along still shrinks."
    before = page.root.locator("polyline.bwd").get_attribute("points")
    drag_by_finger(page, page.root.locator(".handle"), -60, 20)
    after = page.root.locator("polyline.bwd").get_attribute("points")
    assert after != before
    fields = ("learning-rate.rate=0.21", "learning-rate.along=", "learning-rate.across=0.")
    page.wait_for_function("fields => fields.every(each => location.hash.includes(each))", arg=fields)
    page.reload()
    page.wait_for_selector("#learning-rate.ready")
    assert page.root.locator("polyline.bwd").get_attribute("points") == after
    page.root.get_by_role("button", name="Reset").click()
    assert "is below" in said.text_content()


def test_at_the_cliff_clipping_keeps_the_run_and_by_norm_its_direction(figure):
    """The run is the one that the library takes, up to the cliff; each way to clip says what it does there."""
    page = figure("clipping-cliff")
    cliff = load_figure("clipping-cliff")
    log = page.evaluate("start => bpFigures['clipping-cliff'].model(start).log", cliff.START)
    expected = cliff.run(cliff.START, steps=28)
    np.testing.assert_allclose([each["place"] for each in log[:28]], [each["place"] for each in expected], rtol=1e-6)
    said = page.root.locator("[data-part=said]")
    norm = f"At step 27 the gradient norm is {expected[27]['norm']:.2g}"
    assert said.text_content().startswith(f"{norm}: the step throws the run off the map")
    page.root.get_by_label("by norm").check()
    assert said.text_content() == f"{norm}: clipped, the step is 0.2 long, in the same direction."
    page.root.get_by_label("by value").check()
    assert re.fullmatch(rf"{norm}: clipped, the step is 0.28 long, turned by \d+°.", said.text_content())
    page.root.get_by_label("Threshold").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert "the step throws" in said.text_content()  # too high a threshold is none


def test_the_layer_is_dragged_over_the_ridge_and_another_precision_takes_it_back(figure):
    """The point stays on the roof, wherever the finger is; the ridge depends on the precision, the batch does not."""
    page = figure("roofline", width=390)
    said = page.root.locator("[data-part=said]")
    assert "memory-bound" in said.text_content()
    drag_by_finger(page, page.root.locator(".handle"), 60, -70)
    assert "past the ridge at 12.5: compute-bound. At best 100% of the peak." in said.text_content()
    rows = page.root.get_by_label("Rows in the batch")
    chosen = rows.get_attribute("aria-valuetext")
    page.root.get_by_label("bfloat16").check()
    assert "left of the ridge at 201: memory-bound" in said.text_content()
    assert rows.get_attribute("aria-valuetext") == chosen


def test_checkpointing_halves_the_peak_of_many_tokens_and_not_that_of_many_words(figure):
    """The cursor says what is alive at the peak, and can be dragged elsewhere."""
    page = figure("memory", width=390)
    said, cursor = page.root.locator("[data-part=said]"), page.root.get_by_role("slider", name="Operation")

    def peaks():
        found = []
        for form in ("plain", "checkpointed"):
            page.root.get_by_label(form, exact=True).check()
            number, unit = re.search(r"Peak: ([\d.]+) ([GM])B", said.text_content()).groups()
            found.append(float(number) * {"G": 1000, "M": 1}[unit])
        return found

    plain, checkpointed = peaks()
    assert 0.5 < checkpointed / plain < 0.55
    page.root.get_by_label("Words").press("End")
    plain, checkpointed = peaks()
    assert 0.9 < checkpointed / plain < 0.95
    page.root.get_by_role("button", name="Reset").click()
    page.root.get_by_role("button", name="To the peak").click()
    facts = page.root.locator("dl").inner_text()
    assert "4 outputs of GELUs" in facts
    assert "gradient of the logits" in facts
    drag_by_finger(page, cursor, -100, -50)
    assert "of block 2 (forward pass). Peak:" in said.text_content()


def test_the_cursor_of_the_memory_figure_says_where_it_stands(figure):
    """To a screen reader: which operation of how many, and what is alive after it."""
    page = figure("memory")
    cursor = page.root.get_by_role("slider", name="Operation")
    cursor.focus()
    told = []
    for key in ("Home", "PageUp", "End"):
        page.keyboard.press(key)
        told.append(cursor.get_attribute("aria-valuetext"))
    assert told[0].startswith("0 of ")
    assert re.fullmatch(r"\d+ of \d+, after .+ \(forward pass\): [\d.]+ MB alive", told[1])
    assert "(optimizer)" in told[2]


def test_memory_of_a_real_step_is_that_of_the_figure():
    """The figure's tensors have no data; one with data takes as much."""
    memory = load_figure("memory")
    state = memory.START | {"tokens": 512, "width": 32, "words": 256}
    step, optimizer = memory.step_of(state)
    assert memory.count_kibibytes(memory_timeline(step, optimizer=optimizer)) == memory.model(state)


def test_the_gradient_of_twenty_layers_is_level_with_the_scale_of_he(figure):
    """The default vanishes in float16, dragging finds He's scale, and what was measured confirms the law."""
    page = figure("gradient-by-layer", width=390)
    said = page.root.locator("[data-part=said]")
    assert said.text_content().endswith("1.7e-8, 0 in float16.")
    drag_by_finger(page, page.root.locator(".handle"), 0, -90)
    assert " = 1: after 20 layers" in said.text_content()
    layers = load_figure("gradient-by-layer")
    for activation in layers.ACTIVATIONS:
        for scale in layers.SCALES:
            found = np.divide(layers.measure(scale, activation, "256"), layers.predict(scale, activation))
            assert 0.8 < found.min() <= found.max() < 1.25, (scale, activation)


def test_a_run_is_diagnosed_and_the_browser_remembers_it_until_reset(figure):
    """Nothing tells the answer before; a wrong one is told its sign, a right one is explained and counted."""
    page = figure("eight-runs", width=390)
    said, facts = page.root.locator("[data-part=said]"), page.root.locator("dl")
    diagnose = page.root.get_by_role("button", name="Diagnose")
    assert diagnose.is_disabled()
    page.root.get_by_label("B", exact=True).check()
    page.root.get_by_label("Too much weight decay").check()
    assert said.text_content().endswith("What is broken?")
    assert not re.search(r"guess|case \d", page.root.inner_text())
    diagnose.click()
    assert said.text_content().startswith("Not yet. The sign of “Too much weight decay”: step 1 is healthy")
    page.root.get_by_label("Labels of other examples").check()
    diagnose.click()
    assert said.text_content().startswith("Right, case 8.")
    page.root.get_by_role("button", name="Next run").click()
    page.root.get_by_label("zero_grad() is missing").check()
    diagnose.click()
    page.reload()
    page.wait_for_selector("#eight-runs.ready")
    assert "2 of 8, 1 at the first try" in facts.inner_text()
    page.root.get_by_role("button", name="Reset").click()
    assert "0 of 8" in facts.inner_text()
    assert page.evaluate("bookMemory.get('answers', {})[bookMemory.page]['eight-runs']") == ""


def test_every_run_has_the_sign_of_its_diagnosis():
    """The runs are those of the page, each under its own letter."""
    runs = load_figure("eight-runs")
    found = {runs.CASES[letter]: run for letter, run in runs.data().items() if letter}
    (loss, norm, _, weight), healthy = (
        zip(*(found[case]["vitals"] for case in range(1, 9)), strict=True),
        runs.data()[""],
    )
    expected, first = healthy["vitals"], [row[0] for row in healthy["rms"]]
    assert norm[0][1] == pytest.approx(expected[1][0] + expected[1][1], rel=0.1)
    assert [loss[1][0] / expected[0][0], norm[1][0] / expected[1][0]] == pytest.approx([32, 32], rel=0.01)
    assert weight[2][99] < 0.01 * expected[3][99]
    assert norm[3][0] == "nan"
    assert [row[0] for row in found[4]["rms"]] == pytest.approx(first, rel=0.05)
    assert [row[0] is None for row in found[5]["rms"]] == [True, True, True, False]
    assert [row is None for row in found[6]["rms"]] == [True, True, True, False]
    assert weight[6][0] > 5 * expected[3][0]
    assert np.mean(loss[7][50:]) == pytest.approx(np.log(4), rel=0.02)
