"""Hidden tests of label_a_trace: each tells the learner which mistake it found, never a value."""

import numpy as np

from course_grader import Mistake, expect, points

CELLS = ("step", "record", "count", "predict")
LABELS = ("forward", "loss", "backward", "optimizer")
VISIT = "autograd::engine::evaluate_function: "
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
DRIVERS = {"stepped": "step", "recorded": "record", "counted": "count"}


def call(learner, name, *args):
    """Call a given function, and say in the exercise's words what the learner's own raised or returned."""
    own = DRIVERS.get(name, name)
    try:
        return learner.call(name, *args)
    except Mistake as mistake:
        if own == "record" and "Profiler must be initialized" in str(mistake):
            raise Mistake(
                "`record` reads the rows of a profiler that has recorded nothing: is `prof.step()` called at the end "
                "of each step?"
            ) from None
        if own == "count" and "maximum recursion" in str(mistake):
            raise Mistake("`count` calls itself without end") from None
        raise mistake.reworded(str(mistake).replace(f"`{name}`", f"`{own}`", 1), function=own) from None


# 1. A labelled step.


def draw_step(rng):
    """Draw a network, a batch and a rate for which each ReLU is open in some row, and closed in another."""
    while True:
        w1, w2, x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 3), (2, 4), (6, 3), (6, 2)))
        case = w1, w2, x, y, float(rng.uniform(0.1, 0.2))
        on = x @ w1.T > 0
        losses = trained(*case)[1]
        if on.any(axis=0).all() and not on.all(axis=0).any() and abs(losses[0] - losses[1]) > 1e-2:
            return case


def trained(w1, w2, x, y, rate, *, cleared=True, steps=2):
    """Return the weights after two steps, and the losses before each."""
    weights, kept, losses = [w1.astype(float), w2.astype(float)], [0.0, 0.0], []
    for _ in range(steps):
        h = np.maximum(x @ weights[0].T, 0)
        out = h @ weights[1].T
        g = 2 * (out - y) / out.size
        losses.append(float(np.mean((out - y) ** 2)))
        grads = [((g @ weights[1]) * (h > 0)).T @ x, g.T @ h]
        kept = grads if cleared else [a + b for a, b in zip(kept, grads, strict=True)]
        weights = [w - rate * k for w, k in zip(weights, kept, strict=True)]
    return weights, losses


def traced(learner, case):
    """Return what two steps gave, and the rows of the second as tuples."""
    found = call(learner, "stepped", *case)
    return found, [tuple(row) for row in found["rows"]]


def spans_of(learner, rows):
    """Return the start and end of each label, or say which is missing."""
    names = [row[0] for row in rows]
    missing = [label for label in LABELS if label not in names]
    if missing == list(LABELS) and "record_function" in learner.source("step"):
        raise Mistake(
            "the trace has none of the four labels: `record_function` is a context manager, so write `with` before it"
        )
    if missing:
        raise Mistake(f"the trace of `step` has no label `{missing[0]}`")
    for label in LABELS:
        if names.count(label) > 1:
            raise Mistake(
                f"the label `{label}` stands {names.count(label)} times in the trace of one `step`: once is right"
            )
    return {row[0]: row[2:4] for row in rows if row[0] in LABELS}


@points(1)
def test_labels(learner, rng):
    """The trace of a step has the four labels, once each and one after another."""
    _, rows = traced(learner, draw_step(rng))
    spans = spans_of(learner, rows)
    for one in LABELS:
        for other in LABELS:
            if one != other and spans[other][0] <= spans[one][0] and spans[one][1] <= spans[other][1]:
                raise Mistake(f"the label `{one}` lies within `{other}`: end one `with` before the next begins")
    edges = [edge for label in LABELS for edge in spans[label]]
    if edges != sorted(edges):
        raise Mistake("the labels come in another order than forward, loss, backward, optimizer")


@points(0.5)
def test_what_labels_hold(learner, rng):
    """Each label is around its own work, all of it and nothing else."""
    _, rows = traced(learner, draw_step(rng))
    spans = spans_of(learner, rows)

    def within(label, *names):
        start, end = spans[label]
        return sum(row[0].startswith(names) and start <= row[2] and row[3] <= end for row in rows)

    for label, names, right, what in (
        ("forward", ("aten::linear",), 2, "both layers of the network"),
        ("backward", (VISIT,), sum(row[0].startswith(VISIT) for row in rows), "all visits of autograd's engine"),
        ("optimizer", ("Optimizer.step",), 1, "the optimizer's step"),
    ):
        if within(label, *names) != right or right == 0:
            raise Mistake(f"the label `{label}` does not hold {what}: is the work inside the `with`, and done once?")
        others = [other for other in LABELS if other != label and within(other, *names)]
        if others:
            raise Mistake(f"the label `{others[0]}` holds work of `{label}`: each phase has a label of its own")
    if within("forward", "aten::mse_loss", "aten::mean", "aten::sum", "aten::sub", "aten::square", "aten::pow"):
        raise Mistake("the label `forward` holds the loss, too: that has a label of its own")
    if not within("loss", "aten::"):
        raise Mistake("the label `loss` holds nothing: is the loss computed inside the `with`?")
    if held := [label for label in LABELS if within(label, "Optimizer.zero_grad")]:
        raise Mistake(f"the label `{held[0]}` holds the clearing of the gradients, too: that belongs to no label")


@points(0.5)
def test_step_trains(learner, rng):
    """The loss is returned, and two steps of the optimizer lead where they must."""
    case = draw_step(rng)
    found, _ = traced(learner, case)
    weights, losses = trained(*case)
    if any(loss is None for loss in found["losses"]):
        raise Mistake("`step` returns None: return the loss")

    def led(right):
        return all(np.allclose(came, must, atol=1e-4) for came, must in zip(found["weights"], right, strict=True))

    if led(case[:2]):
        raise Mistake("`step` leaves the parameters where they were: does the optimizer step after the backward pass?")
    if led(trained(*case, cleared=False)[0]):
        raise Mistake("`step` does not clear the gradients, so those of the second step are added to the first")
    if not led(weights):
        raise Mistake(
            "two of `step` do not lead to the right parameters: clear, forward, loss, backward, optimizer, once each"
        )
    if not np.allclose(found["losses"], losses, rtol=1e-3):
        raise Mistake("`step` does not return the loss of the batch, as it was before the parameters moved")


# 2. A schedule.


def cycles_of(learner, wait, warmup, active, repeat):
    """Return how often run() was called, and the names and FLOPs of the rows of each cycle."""
    found = call(learner, "recorded", wait, warmup, active, repeat)
    cycles = found["cycles"]
    if cycles is None:
        raise Mistake("`record` returned None, as happens when a `return` is missing: return the list of cycles")
    if not isinstance(cycles, (list, tuple)) or not all(isinstance(rows, (list, tuple)) for rows in cycles):
        raise Mistake("`record` must return a list with the list of rows of each cycle")
    return found["calls"], [[(row[0], row[4]) for row in rows] for rows in cycles]


@points(0.5)
def test_number_of_steps(learner, rng):
    """As many steps are run as the cycles have, each of them once."""
    wait, warmup, active = (int(n) for n in rng.permutation([1, 2, 4]))
    calls, cycles = cycles_of(learner, wait, warmup, active, 2)
    if not any(name.startswith("run ") for rows in cycles for name, _ in rows):
        raise Mistake("`record` returns no row of a step: nothing was recorded")
    if calls == 7:
        raise Mistake("`record` runs the steps of one cycle: there are `repeat` of them")
    if calls == active * 2:
        raise Mistake("`record` runs the active steps alone: those that wait or warm up are run, too, and not kept")
    if calls != 14:
        raise Mistake(
            f"for 2 cycles of {wait} + {warmup} + {active} steps, `record` calls run() {calls} times: 14 is right"
        )


@points(0.75)
def test_active_steps(learner, rng):
    """The rows of a cycle are those of its active steps."""
    for wait, warmup, active, repeat in ((int(rng.integers(1, 3)), 1, 2, 3), (0, 2, 1, 1)):
        _, cycles = cycles_of(learner, wait, warmup, active, repeat)
        length = wait + warmup + active
        right = [list(range(n * length + wait + warmup, (n + 1) * length)) for n in range(repeat)]
        came = [sorted(int(name[4:]) for name, _ in rows if name.startswith("run ")) for rows in cycles]
        plan = f"with wait={wait}, warmup={warmup}, active={active}, repeat={repeat}"
        if came == right:
            continue
        if not any(came):
            raise Mistake(
                f"{plan}, `record` returns no rows of a step: without `prof.step()` the schedule stays where it is, "
                "and without on_trace_ready nothing takes the rows"
            )
        if len(came) == 1 < repeat:
            if came == right[-1:]:
                raise Mistake(
                    f"{plan}, `record` returns the last cycle alone: the profiler deletes the rows of the one before, "
                    "so take them in on_trace_ready"
                )
            if came[0] == [n for rows in right for n in rows]:
                raise Mistake(
                    f"{plan}, `record` puts the rows of all cycles into one list: return a list for each cycle"
                )
        if came == [[n for rows in right[: last + 1] for n in rows] for last in range(repeat)]:
            raise Mistake(f"{plan}, each list holds the cycles before it, too: leave out acc_events")
        if came == [list(range(n * length, (n + 1) * length)) for n in range(repeat)] or came == [
            list(range(length * repeat))
        ]:
            raise Mistake(f"{plan}, `record` keeps every step: give the profiler a schedule")
        if came == [[n - 1 for n in rows] for rows in right]:
            raise Mistake(
                f"{plan}, the rows are those of a step earlier: call `prof.step()` after run(), not before it"
            )
        if [rows for rows in came if rows] == right[:-1] or came == right[:-1]:
            raise Mistake(f"{plan}, the last cycle is missing: call `prof.step()` after the last step, too")
        if len(came) != repeat:
            raise Mistake(f"{plan}, `record` returns {len(came)} lists of rows: one for each cycle")
        raise Mistake(f"{plan}, a cycle holds the rows of other steps than its active ones")


def one_cycle(learner, rng):
    _, cycles = cycles_of(learner, 1, 1, int(rng.integers(1, 3)), 1)
    rows = [row for rows in cycles for row in rows]
    if not any(name.startswith("run ") for name, _ in rows):
        raise Mistake("`record` returns no row of a step: nothing was recorded")
    return rows


@points(1)
def test_schedule(learner, rng):
    """A schedule starts and stops the profiler, and is told where steps end."""
    if not any(name.startswith("ProfilerStep") for name, _ in one_cycle(learner, rng)):
        raise Mistake(
            "the rows have no ProfilerStep: let a schedule start and stop the profiler, with warm-up steps, and tell "
            "it by `prof.step()` where a step ends"
        )


@points(0.25)
def test_record_flops(learner, rng):
    """The profiler counted FLOPs."""
    if not any(flops for _, flops in one_cycle(learner, rng)):
        raise Mistake("the rows of `record` have no FLOPs: record them, with_flops=True")


# 3. What lies within a label.


class Trace:
    """A step as a trace has it: the main thread with its labels, autograd's thread, and a data loader's."""

    def __init__(self, rng, steps=1, gap=1):
        self.main, self.engine, self.loader = (int(n) for n in rng.permutation(np.arange(1, 30))[:3])
        begin = float(rng.uniform(100, 1000))
        self.rows, self.gap = [], gap  # the gap from a label's ends to the rows that come closest
        for n in range(steps):
            self.add_step(begin + 200 * n, rng)

    def add_step(self, at, rng):
        def flops():
            return int(rng.integers(10, 20)) * 10

        m, e, o, gap = self.main, self.engine, self.loader, self.gap
        for name, thread, start, end, count in (
            ("aten::addmm", m, -6, -2, flops()),
            ("forward", m, 0, 30, 0),
            ("aten::linear", m, 2, 12, 0),
            ("aten::addmm", m, 3, 11, flops()),
            ("aten::mul", m, 13, 14, 7),
            ("aten::relu", m, 20, 30 - gap, 0),
            ("aten::copy_", m, 30.5, 31.5, 0),
            ("loss", m, 32, 40, 0),
            ("aten::mse_loss", m, 32 + gap, 40 - gap, 0),
            ("backward", m, 42, 92, 0),
            ("aten::ones_like", m, 42 + gap, 45, 0),
            ("optimizer", m, 94, 110, 0),
            ("aten::mul", m, 95, 96, 5),
            ("aten::bmm", m, 97, 98, flops()),
            (VISIT + "MmBackward0", e, 46, 60, 0),
            ("MmBackward0", e, 46.5, 59, 0),
            ("aten::mm", e, 47, 52, flops()),
            ("aten::mm", e, 53, 58, flops()),
            (VISIT + "AddmmBackward0", e, 60, 88, 0),
            ("AddmmBackward0", e, 61, 87, 0),
            ("aten::mm", e, 62, 70, flops()),
            ("aten::sum", e, 88.5, 91, 0),
            ("aten::mm", o, 4, 26, 1000),
            ("aten::stack", o, 27, 33, 0),
            ("aten::mm", o, 48, 51, 1000),
            ("aten::stack", o, 63, 64, 0),
        ):
            self.rows.append([name, thread, at + start, at + end, count])

    def on(self, *threads):
        return [row for row in self.rows if row[1] in threads]


def covers(outer, inner):
    return outer[2] <= inner[2] and inner[3] <= outer[3]


def is_visit(row):
    return row[0].startswith(VISIT)


def in_a_visit(row, rows, *, own_thread=True):
    return any(is_visit(v) and covers(v, row) and (v[1] == row[1] or not own_thread) for v in rows)


def within(row, mark, rows):
    if not covers(mark, row):
        return False
    return row[1] == mark[1] or in_a_visit(row, rows)


def found(rows, label, rule=within, marks=None, *, itself=False):
    """Return the calls by name, and the rows, if a row lies within a label by this rule."""
    marks = [row for row in rows if row[0] == label] if marks is None else marks
    kept = [row for row in rows if (itself or row[0] != label) and any(rule(row, mark, rows) for mark in marks)]
    calls = {}
    for row in kept:
        calls[row[0]] = calls.get(row[0], 0) + 1
    return calls, kept


def counts(learner, rng, rows, label, *, itself=False):
    """Return the calls and the FLOPs that the learner's count finds, the rows in any order."""
    order = rng.permutation(len(rows))
    value = call(learner, "counted", [rows[i] for i in order], label)
    calls, flops = expect.pair(value, "the calls and the FLOPs", name="count")
    if isinstance(flops, dict) and not isinstance(calls, dict):
        raise Mistake("`count` returns the FLOPs first: the calls come first, and then the FLOPs")
    if not isinstance(calls, dict):
        raise Mistake(f"the calls of `count` are {expect.describe(calls)}; they must be a dict")
    calls = {name: int(expect.array(n, name="a number of calls", shape=())) for name, n in calls.items()}
    return {name: n for name, n in calls.items() if n and (itself or name != label)}, flops


@points(0.5)
def test_by_time(learner, rng):
    """On the label's own thread, a row belongs if it begins and ends within the label's time."""
    trace = Trace(rng, gap=0)
    rows = trace.on(trace.main)
    for label in LABELS:
        came, _ = counts(learner, rng, rows, label, itself=True)
        right, _ = found(rows, label)
        if came == right:
            continue
        if came == found(rows, label, itself=True)[0]:
            raise Mistake("`count` counts the row of the label itself")
        known = {
            "`count` leaves out a row that begins or ends at the same time as the label: both ends belong to it": (
                lambda row, mark, _: mark[2] < row[2] and row[3] < mark[3]
            ),
            "`count` counts rows that begin before the label, or end after it": lambda row, mark, _: (
                row[2] <= mark[3] and mark[2] <= row[3]
            ),
            "`count` looks only at when a row begins, not at whether it ends within the label": lambda row, mark, _: (
                row[2] >= mark[2]
            ),
            "`count` looks only at when a row ends, not at whether it begins within the label": lambda row, mark, _: (
                row[3] <= mark[3]
            ),
            "`count` counts every row, inside and outside": lambda row, mark, _: True,
        }
        for message, rule in known.items():
            if came in (found(rows, label, rule)[0], found(rows, label, rule, itself=True)[0]):
                raise Mistake(message)
        if not came:
            raise Mistake(f"`count` finds nothing within `{label}`, on the label's own thread")
        inner = [
            row
            for row in found(rows, label)[1]
            if not any(o is not row and covers(o, row) and o[0] != label for o in rows)
        ]
        if sum(came.values()) == len(inner) < sum(right.values()):
            raise Mistake("`count` counts direct callees alone: what these call lies within the label, too")
        raise Mistake(f"within `{label}`, with all rows on one thread, `count` finds other calls than there are")
    if counts(learner, rng, rows, "validation")[0]:
        raise Mistake("for a label that does not occur, `count` returns calls: an empty dict is right")


def works(learner, rng):
    """Raise unless the rows on one thread are counted rightly: this point is for one that works."""
    trace = Trace(rng)
    rows = trace.on(trace.main)
    if counts(learner, rng, rows, "forward")[0] != found(rows, "forward")[0]:
        raise Mistake("`count` is wrong with all rows on one thread already: mend that first")


@points(1.5)
def test_thread_of_the_backward_pass(learner, rng):
    """What autograd's engine does on a thread of its own lies within the label backward."""
    works(learner, rng)
    trace = Trace(rng)
    rows = trace.on(trace.main, trace.engine)
    came, _ = counts(learner, rng, rows, "backward")
    if came == found(rows, "backward")[0]:
        came, _ = counts(learner, rng, rows, "loss")
        if came != found(rows, "loss")[0]:
            raise Mistake("`count` finds rows of autograd's thread within `loss`: the label's time counts there, too")
        return
    known = {
        "`count` looks at the label's thread alone: the backward pass may have one of its own, and its visits tell": (
            lambda row, mark, rows: covers(mark, row) and row[1] == mark[1]
        ),
        "`count` takes the visits of autograd's thread, and not what lies within them": lambda row, mark, rows: (
            covers(mark, row) and (row[1] == mark[1] or is_visit(row))
        ),
        "`count` takes what lies within a visit, and leaves the visit itself out": lambda row, mark, rows: (
            covers(mark, row) and (row[1] == mark[1] or (in_a_visit(row, rows) and not is_visit(row)))
        ),
        "`count` takes a row of autograd's thread that lies in no visit": lambda row, mark, rows: covers(mark, row),
        "`count` takes autograd's rows alone, and leaves out those of the label's own thread": lambda row, mark, rows: (
            covers(mark, row) and in_a_visit(row, rows)
        ),
    }
    for message, rule in known.items():
        if came == found(rows, "backward", rule)[0]:
            raise Mistake(message)
    raise Mistake("where the backward pass runs on a thread of its own, `count` finds other calls than there are")


@points(0.5)
def test_data_loader(learner, rng):
    """What another thread does at the same time does not belong."""
    works(learner, rng)
    trace = Trace(rng)
    for label in ("forward", "backward"):
        with_loader, _ = counts(learner, rng, trace.rows, label)
        without, _ = counts(learner, rng, trace.on(trace.main, trace.engine), label)
        if with_loader != without:
            if label == "forward":
                raise Mistake(
                    "`count` counts rows of the data loader: at the same time, but on a thread without visits"
                )
            raise Mistake(
                "`count` counts rows of the data loader within `backward`: they lie within a visit by time, but the "
                "visit is on another thread"
            )


@points(0.5)
def test_several_steps(learner, rng):
    """Where a label occurs once for each step, all of them count."""
    works(learner, rng)
    trace = Trace(rng, steps=3)
    rows = trace.on(trace.main)
    for label in ("forward", "optimizer"):
        came, _ = counts(learner, rng, rows, label)
        right, _ = found(rows, label)
        if came == right:
            continue
        marks = sorted((row for row in rows if row[0] == label), key=lambda row: row[2])
        for mark in marks:
            if came == found(rows, label, marks=[mark])[0]:
                raise Mistake("with three steps in the trace, `count` looks within one label of the name: all count")
        whole = [label, trace.main, marks[0][2], marks[-1][3], 0]
        if came in (found(rows, label, marks=[whole])[0], found(rows, label, marks=[whole], itself=True)[0]):
            raise Mistake(
                "with three steps in the trace, `count` takes all from the first label to the last: what stands "
                "between two labels does not belong"
            )
        raise Mistake("with three steps in the trace, `count` finds other calls than there are")


@points(0.5)
def test_flops(learner, rng):
    """The FLOPs are those of the matrix products within the label."""
    trace = Trace(rng)
    rows = trace.on(trace.main)
    for label in ("forward", "optimizer"):
        _, flops = counts(learner, rng, rows, label)
        came = float(expect.array(flops, name="the FLOPs", shape=()))
        kept = found(rows, label)[1]
        right = sum(row[4] for row in kept if row[0] in PRODUCTS)
        if came == right:
            continue
        if came == sum(row[4] for row in kept):
            raise Mistake(
                "the FLOPs of `count` are those of all rows within the label: take the products, as in PRODUCTS"
            )
        if came in (sum(row[4] for row in rows if row[0] in PRODUCTS), sum(row[4] for row in rows)):
            raise Mistake("the FLOPs of `count` are those of the whole trace: take what lies within the label")
        if came == sum(row[0] in PRODUCTS for row in kept):
            raise Mistake("`count` returns the number of products, not their FLOPs")
        if came == sum(row[4] for row in kept if row[0] in ("aten::mm", "aten::addmm")):
            raise Mistake("`count` leaves out the FLOPs of `aten::bmm`: PRODUCTS names four products")
        raise Mistake("the FLOPs of `count` are not those of the matrix products within the label")


# 4. Predicted FLOPs.


def draw_layers(rng, trained):
    """Return layers no two of which have the same FLOPs, nor a sum that is another's."""
    widths = [int(n) for n in rng.permutation([3, 5, 7, 11, 13, 17])[: len(trained) + 1]]
    return [(d, f, t) for d, f, t in zip(widths[:-1], widths[1:], trained, strict=True)]


def right_flops(b, layers, input_grad=False):
    forward, backward, below = 0, 0, input_grad
    for d, f, trained in layers:
        forward += 2 * b * d * f
        backward += 2 * b * d * f * (bool(trained) + bool(below))
        below = below or trained
    return forward, backward


def predicted(learner, b, layers, *more):
    library = {
        r"FlopCounter|flop_counter|count_flops|\bprofile$|^course_lib\b": "that counts: here a formula predicts it"
    }
    expect.by_hand(learner, ["predict"], among=CELLS, instead_of=library)
    value = call(learner, "predict", b, layers, *more)
    value = list(value) if isinstance(value, np.ndarray) and value.ndim == 1 else value
    value = expect.pair(value, "the FLOPs forward and backward", name="predict")
    return tuple(float(expect.array(n, name="the FLOPs", shape=())) for n in value)


def of(depth):
    return f"{depth} layers" if depth > 1 else "a single layer"


@points(1)
def test_predict(learner, rng):
    """With every layer trained, the backward pass is twice the forward pass, less one product."""
    b = int(rng.integers(20, 40))
    for depth in (1, 3, 5):
        layers = draw_layers(rng, [True] * depth)
        forward, backward = predicted(learner, b, layers)
        right = right_flops(b, layers)
        each = [2 * b * d * f for d, f, _ in layers]
        if forward == right[0] / 2:
            raise Mistake("`predict` counts b d f FLOPs for a product: each multiplication has an addition, so 2 b d f")
        if forward == right[0] / b:
            raise Mistake("`predict` leaves out the rows of the batch: a product has 2 b d f FLOPs")
        if (forward, backward) == right[::-1] != right:
            raise Mistake("`predict` returns backward first: forward comes first")
        if forward == right[0] + b * sum(f for _, f, _ in layers):
            raise Mistake("`predict` counts the biases: it is the products alone that count")
        if forward != right[0]:
            raise Mistake(f"with {of(depth)}, the FLOPs forward of `predict` are wrong: 2 b d f for each layer")
        known = {
            "takes twice the forward pass: the second product is for a layer's input, and that of the first layer is "
            "data, which wants no gradient": 2 * right[0],
            "has one product for each layer: there is one for the weights and one for the input": right[0],
            "adds the forward pass to the backward pass": right[0] + right[1],
            "leaves out a product of the last layer: it is the first that does without one": 2 * right[0] - each[-1],
            "takes off two products for the first layer: it still has the one for its weights": 2 * right[0]
            - 2 * each[0],
        }
        for message, value in known.items():
            if backward == value != right[1]:
                raise Mistake(f"with {of(depth)}, `predict` {message}")
        if backward != right[1]:
            raise Mistake(f"with {of(depth)}, the FLOPs backward of `predict` are wrong")


def predict_works(learner, rng):
    layers = draw_layers(rng, [True] * 3)
    if predicted(learner, 8, layers)[0] != right_flops(8, layers)[0]:
        raise Mistake("`predict` is wrong with every layer trained already: mend that first")


@points(0.5)
def test_frozen_layers(learner, rng):
    """A frozen layer has no gradient of its weights, and passes one down only if something below wants it."""
    predict_works(learner, rng)
    layers = draw_layers(rng, [True] * 3)
    first_has_two = predicted(learner, 16, layers)[1] == 2 * right_flops(16, layers)[0]  # another test's business
    for trained in ([1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]):
        layers = draw_layers(rng, list(map(bool, trained)))
        forward, backward = predicted(learner, 16, layers)
        right = right_flops(16, layers)
        each = [32 * d * f for d, f, _ in layers]
        if forward != right[0]:
            raise Mistake("`predict` leaves frozen layers out of the forward pass: they compute as ever")
        if backward == right[1]:
            continue
        own_sake = sum(n * (t + any(trained[: i + 1])) for i, (n, t) in enumerate(zip(each, trained, strict=True)))
        if first_has_two and backward == own_sake:
            continue
        known = {
            "a frozen layer costs nothing there: but below it something may want a gradient": sum(
                n * 2 for n, t in zip(each, trained, strict=True) if t
            ),
            "every layer but the first passes a gradient down, though nothing below wants it": sum(
                n * (t + (i > 0)) for i, (n, t) in enumerate(zip(each, trained, strict=True))
            ),
            "every layer passes a gradient down, though nothing below wants it": sum(
                n * (t + 1) for n, t in zip(each, trained, strict=True)
            ),
            "frozen layers have the gradient of their weights": right_flops(16, [(d, f, True) for d, f, _ in layers])[
                1
            ],
            "a trained layer passes a gradient down for its own sake": own_sake,
            "a layer passes a gradient down only if the one right below it is trained": sum(
                n * (t + (i > 0 and trained[i - 1])) for i, (n, t) in enumerate(zip(each, trained, strict=True))
            ),
            "no frozen layer passes a gradient down": sum(
                n * (1 + any(trained[:i])) for i, (n, t) in enumerate(zip(each, trained, strict=True)) if t
            ),
        }
        for message, value in known.items():
            if backward == value:
                raise Mistake(f"where some layers are frozen, `predict` says that {message}")
        raise Mistake("where some layers are frozen, the FLOPs backward of `predict` are wrong")
    layers = draw_layers(rng, [False, True])
    if predicted(learner, 16, layers)[1] == predicted(learner, 16, layers, True)[1]:
        return  # what ignores input_grad is the next test's business
    if predicted(learner, 16, layers, True)[1] != right_flops(16, layers, True)[1]:
        raise Mistake("a frozen layer below a trained one must pass a gradient down if the batch requires grad")


@points(0.5)
def test_input_gradient(learner, rng):
    """If the batch requires grad, every product counts; and no network is run, however large it is."""
    predict_works(learner, rng)
    for depth in (1, 3):
        layers = draw_layers(rng, [True] * depth)
        backward = predicted(learner, 16, layers, True)[1]
        if backward == right_flops(16, layers)[1]:
            raise Mistake(
                "`predict` ignores input_grad: a batch that requires grad needs the first layer's second product"
            )
        if backward != right_flops(16, layers, True)[1]:
            raise Mistake(
                "where the batch requires grad, the FLOPs backward of `predict` are wrong: all layers pass one down"
            )
    large = [(10**6, 10**6, True), (10**6, 10, True)]
    try:
        came = predicted(learner, 64, large)
    except Mistake as mistake:
        if mistake.raised:
            raise Mistake(
                f"for layers of a million inputs, {mistake}: predict by the formula, and run nothing"
            ) from None
        raise
    if not np.allclose(came[0], right_flops(64, large)[0], rtol=1e-12):
        raise Mistake("for layers of a million inputs, the FLOPs forward of `predict` are wrong")
