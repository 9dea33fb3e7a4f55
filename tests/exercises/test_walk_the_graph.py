"""Right answers to walk_the_graph that look nothing like the reference get every point."""

import pytest

# Kahn's algorithm; a generator; the walk counts users for itself; the sum of one axis after the other
COUNTED = {
    "users_first": """
from collections import Counter

def uses_of(result):
    uses, seen, todo = Counter(), {id(result)}, [result]
    while todo:
        v = todo.pop()
        for p in v.parents:
            uses[p] += 1
            if id(p) not in seen:
                seen.add(id(p))
                todo.append(p)
    return uses

def users_first(result):
    uses, ready = uses_of(result), [result]
    while ready:
        yield (v := ready.pop())
        for p in v.parents:
            uses[p] -= 1
            if not uses[p]:
                ready.append(p)
""",
    "backward": """
def backward(result, g):
    uses, ready, bar = uses_of(result), [result], {id(result): np.array(g, copy=True)}
    while ready:
        v = ready.pop(0)
        own = bar.pop(id(v))
        if v.parents == ():
            if v.grad is None:
                v.grad = np.zeros_like(v.data)
            v.grad += own
        for p, vjp in zip(v.parents, v.vjps):
            new = np.array(vjp(own), dtype=float)
            if id(p) in bar:
                bar[id(p)] += new
            else:
                bar[id(p)] = new
            uses[p] -= 1
            if uses[p] == 0:
                ready.append(p)
""",
    "summed_to": """
def summed_to(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for axis, size in enumerate(shape):
        if size == 1:
            g = g.sum(axis=axis, keepdims=True)
    return g
""",
}

# A search with iterators, in a deque; shares collected in lists and added at the end; lists for arrays
COLLECTED = {
    "users_first": """
def users_first(result):
    from collections import deque
    order, seen, stack = deque(), {result}, [(result, iter(result.parents))]
    while stack:
        v, rest = stack[-1]
        for p in rest:
            if p not in seen:
                seen.add(p)
                stack.append((p, iter(p.parents)))
                break
        else:
            order.appendleft(v)
            stack.pop()
    return order
""",
    "backward": """
from functools import reduce

def backward(result, g):
    order, shares = users_first(result), {}
    shares[result] = [g]
    while order:
        v = order.popleft()
        g = reduce(np.add, shares.pop(v))
        for i in range(len(v.parents)):
            shares.setdefault(v.parents[i], []).append(v.vjps[i](g))
        if not v.parents:
            v.grad = np.array(g) if v.grad is None else np.add(v.grad, g)
""",
    "summed_to": """
def summed_to(g, shape):
    if not shape:
        return [g.sum()][0]
    total = np.zeros(shape)
    np.add.at(total, tuple(np.zeros_like(i) if n == 1 else i for n, i in zip(
        shape, np.indices(g.shape)[g.ndim - len(shape):])), g)
    return total.tolist()
""",
}

# Sorted by the longest way to a leaf; a heap; cotangents on the values, taken off again
HEAP = {
    "users_first": """
import heapq
from itertools import count

def depths(result):
    depth, todo = {}, [result]
    while todo:
        v = todo[-1]
        left = [p for p in v.parents if p not in depth]
        if left:
            todo += left
        else:
            depth[v] = 1 + max([depth[p] for p in v.parents], default=0)
            todo.pop()
    return depth

def users_first(result):
    depth = depths(result)
    return tuple(sorted(depth, key=depth.get, reverse=True))
""",
    "backward": """
def backward(result, g):
    depth, tie = depths(result), count()
    result._bar = 1.0 * g
    heap = [(-depth[result], next(tie), result)]
    waiting = {result}
    while heap:
        v = heapq.heappop(heap)[2]
        waiting.discard(v)
        g = v._bar
        del v._bar
        if v.parents:
            for p, vjp in zip(v.parents, v.vjps):
                p._bar = getattr(p, "_bar", 0.0) + vjp(g)
                if p not in waiting:
                    waiting.add(p)
                    heapq.heappush(heap, (-depth[p], next(tie), p))
        elif v.grad is None:
            v.grad = g
        else:
            v.grad = v.grad + g
""",
    "summed_to": """
def summed_to(g, shape):
    padded = (1,) * (np.ndim(g) - len(shape)) + tuple(shape)
    axes = tuple(i for i, (have, want) in enumerate(zip(np.shape(g), padded)) if have != want)
    return np.squeeze(np.sum(g, axis=axes, keepdims=True), axis=tuple(range(np.ndim(g) - len(shape))))
""",
}

# .grad as the place for cotangents while the walk lasts; a dict as an ordered set; numbers of NumPy
BORROWED = {
    "users_first": """
def users_first(result):
    GREY, BLACK = 1, 2
    colour, stack, done = {}, [result], {}
    while stack:
        v = stack[-1]
        if v not in colour:
            colour[v] = GREY
            stack.extend(p for p in dict.fromkeys(v.parents) if p not in colour)
        else:
            stack.pop()
            if colour[v] == GREY:
                colour[v] = BLACK
                done[v] = None
    return reversed(done)
""",
    "backward": """
def backward(result, g):
    order = list(users_first(result))
    kept = [(v, v.grad) for v in order]
    for v in order:
        v.grad = np.zeros(v.data.shape)
    result.grad = result.grad + g
    for v in order:
        for k, p in enumerate(v.parents):
            p.grad += v.vjps[k](v.grad)
    for v, before in kept:
        if v.parents:
            v.grad = None
        elif before is not None:
            v.grad += before
""",
    "summed_to": """
def summed_to(g, shape):
    if shape == ():
        return float(g.sum())
    letters = "abcdefgh"[: g.ndim]
    keep = "".join(c for c, n in zip(letters[g.ndim - len(shape) :], shape) if n != 1)
    return np.einsum(f"{letters}->{keep}", g).reshape(shape)
""",
}

# Recursion made of generators on a stack of one's own, in an array of objects; a dict that adds
TRAMPOLINE = {
    "users_first": """
class Order:
    def __init__(self):
        self.seen, self.out = set(), []

    def visit(self, v):
        self.seen.add(id(v))
        for p in v.parents:
            if id(p) not in self.seen:
                yield self.visit(p)
        self.out.append(v)

    def run(self, v):
        stack = [self.visit(v)]
        while stack:
            try:
                stack.append(next(stack[-1]))
            except StopIteration:
                stack.pop()
        return self.out[::-1]

def users_first(result):
    return np.array(Order().run(result) + [None], dtype=object)[:-1]
""",
    "backward": """
class Arrived(dict):
    def take(self, v, share):
        self[v] = share if v not in self else self[v] + share

def backward(result, g):
    arrived = Arrived({result: g})
    for v in users_first(result):
        [arrived.take(p, f(arrived[v])) for p, f in zip(v.parents, v.vjps)]
    for v, g in arrived.items():
        if len(v.parents) == 0:
            v.grad = (0 if v.grad is None else v.grad) + 1.0 * g
""",
    "summed_to": """
def summed_to(g, shape):
    front = g.ndim - len(shape)
    out = g.reshape((-1, *g.shape[front:])).sum(axis=0)
    return np.add.reduce(out, axis=tuple(k for k in range(len(shape)) if shape[k] < out.shape[k]), keepdims=True)
""",
}

# Names that the given cells use as well, and tensors for arrays
TENSORS = {
    "users_first": """
def users_first(result):
    values, steps, call = [result], {result: 0}, [result]
    while call:                               # how often each is used
        for p in call.pop().parents:
            if p in steps:
                steps[p] += 1
            else:
                steps[p] = 1
                call.append(p)
    for v in values:
        for p in v.parents:
            steps[p] -= 1
            if steps[p] == 0:
                values += [p]
    return values
""",
    "backward": """
def backward(result, g):
    import copy
    pending = {result: [copy.deepcopy(g)]}
    for value in list(users_first(result)):
        total_g = pending[value][0]
        for extra in pending[value][1:]:
            total_g = total_g + extra
        pending[value] = None
        if value.parents:
            for parent, given in zip(value.parents, [vjp(total_g) for vjp in value.vjps]):
                pending.setdefault(parent, []).append(given)
        else:
            old = value.grad if value.grad is not None else np.float64(0)
            value.grad = np.asarray(old + total_g).copy()
""",
    "summed_to": """
import torch

def summed_to(g, shape):
    return torch.tensor(np.ascontiguousarray(g)).sum_to_size(shape) if shape else torch.tensor(np.array(g)).sum()
""",
}
STYLES = {
    "counted": COUNTED,
    "collected": COLLECTED,
    "heap": HEAP,
    "borrowed": BORROWED,
    "trampoline": TRAMPOLINE,
}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Users counted, a search with iterators, a heap, .grad borrowed, a trampoline; lists and numbers."""
    earns_every_point(style)


def test_by_hand_is_without_a_library_that_sums_to_a_size(finds_no_library):
    """torch's sum_to_size is what part 2 asks for."""
    finds_no_library(TENSORS)


def test_a_walk_is_judged_apart_from_a_wrong_order(grade):
    """Without an order, and with the worst, a walk that takes its order from there keeps its points."""
    unwritten = 'def users_first(result):\n    raise NotImplementedError("`users_first` is not written yet")'
    report = grade({"users_first": unwritten})
    assert (report.points, report.messages) == (6.5, ("`users_first` is not written yet",))
    report = grade({"users_first": "def users_first(result):\n    return [result]"})
    assert report.points == 6.5
    assert {row.name for row in report.rows if row.status == "passed" and "order" not in row.name} >= {"test_gradients"}


def test_a_walk_that_needs_no_order_passes_its_check_without_one(grade):
    """The check of the walk uses nothing that the check of the order leaves behind, or that it would have."""
    unwritten = 'def users_first(result):\n    raise NotImplementedError("`users_first` is not written yet")'
    own = COUNTED["users_first"].partition("def users_first")[0] + COUNTED["backward"]
    for order in (unwritten, "def users_first(result):\n    return [result]"):
        report = grade({"users_first": order, "backward": own})
        checks = {row.name: row.message for row in report.rows if row.kind == "check"}
        assert not checks["check_backward"], checks["check_backward"]
        assert checks["check_users_first"]


def test_a_wrong_walk_is_not_helped_by_a_wrong_order(grade):
    """Where both are wrong, both cost their points."""
    level_by_level = """
def users_first(result):
    order, seen = [result], {result}
    for value in order:
        for parent in value.parents:
            if parent not in seen:
                seen.add(parent)
                order.append(parent)
    return order
"""
    replaced = """
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = np.array(g)
        for parent, vjp in zip(value.parents, value.vjps):
            share = vjp(g)
            arrived[parent] = arrived[parent] + share if parent in arrived else share
"""
    report = grade({"users_first": level_by_level, "backward": replaced})
    assert report.points == 7.5
    assert any("is lost: a walk adds to it" in message for message in report.messages)


def test_a_wrong_sum_costs_its_own_points_alone(grade):
    """The walk is judged on graphs where nothing was stretched."""
    report = grade({"summed_to": "def summed_to(g, shape):\n    return None"})
    assert report.points == 8


def test_answers_that_do_nothing_earn_nothing(grade):
    """Answers that return at once get no point."""
    nothing = {
        "users_first": "def users_first(result):\n    return []",
        "backward": "def backward(result, g):\n    pass",
        "summed_to": "def summed_to(g, shape):\n    return g",
    }
    assert grade(nothing).points == 0
