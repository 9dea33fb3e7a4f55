"""Right answers to attention_backward that look nothing like the reference get every point."""

from pathlib import Path

import pytest

from course_grader.grading.exercises.wrong_answers import read_wrong_answer

WRONG = Path(__file__).parents[2] / "exercises/attention_backward/key/wrong"

EINSUM = {
    "softmax_backward": """
def softmax_backward(p, g):
    shared = np.einsum("...ij,...ij->...i", p, g)
    return np.multiply(p, g - shared[..., np.newaxis])
""",
    "attention": """
def attention(q, k, v):
    lse = np.logaddexp.reduce(scores(q, k), axis=-1)
    weights = np.exp(scores(q, k) - lse[..., None])
    return [np.einsum("...ts,...se->...te", weights, v), lse]
""",
    "attention_backward": """
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - np.expand_dims(lse, -1))
    out = np.einsum("...ts,...se->...te", p, v)
    dp = np.einsum("...te,...se->...ts", g, v)
    dz = p * (dp - (g * out).sum(-1)[..., None]) * k.shape[-1] ** -0.5
    return [
        np.einsum("...ts,...sd->...td", dz, k),
        np.einsum("...ts,...td->...sd", dz, q),
        np.einsum("...ts,...te->...se", p, g),
    ]
""",
    "backward_in_blocks": """
def backward_in_blocks(g, q, k, v, out, lse, size):
    # Each block of keys on its own, put together at the end.
    t, s = q.shape[-2], k.shape[-2]
    starts = range(0, s, size)
    parts = [one(g, q, k[..., a : a + size, :], v[..., a : a + size, :], out, lse, s - t - a) for a in starts]
    dq, dk, dv = zip(*parts)
    return sum(dq), np.concatenate(dk, axis=-2), np.concatenate(dv, axis=-2)

def one(g, q, k, v, out, lse, ahead):
    p = np.exp(scores(q, k, ahead) - lse[..., None])
    dz = p * (g @ np.swapaxes(v, -1, -2) - np.sum(g * out, -1, keepdims=True)) / k.shape[-1] ** 0.5
    return dz @ k, np.swapaxes(dz, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g
""",
}
QUERIES = {
    "softmax_backward": """
def softmax_backward(p, g):
    dz = np.empty_like(p)
    for at in np.ndindex(p.shape[:-1]):
        dz[at] = p[at] * (g[at] - p[at] @ g[at])
    return dz
""",
    "attention": """
def attention(q, k, v):
    z = scores(q, k)
    c = z.max(-1, keepdims=True)
    e = np.exp(z - c)
    total = e.sum(-1, keepdims=True)
    return (e @ v) / total, np.squeeze(c + np.log(total), -1)
""",
    "backward_in_blocks": """
def backward_in_blocks(g, q, k, v, out, lse, size):
    # Blocks of queries: then each row is whole, and the function for all of them serves for some.
    t, s = q.shape[-2], k.shape[-2]
    dq, dk, dv = [], np.zeros_like(k), np.zeros_like(v)
    for a in range(0, t, size):
        b = min(a + size, t)
        sees = s - t + b
        rows, keys = (..., slice(a, b), slice(None)), (..., slice(0, sees), slice(None))
        q_part, k_part, v_part = attention_backward(g[rows], q[rows], k[keys], v[keys], lse[..., a:b])
        dq.append(q_part)
        dk[keys] += k_part
        dv[keys] += v_part
    return np.concatenate(dq, axis=-2), dk, dv
""",
}
ROWS = {
    "softmax_backward": """
def softmax_backward(p, g):
    # The Jacobian, written out: diag(p) - p p^T is its own transpose.
    eye = np.eye(p.shape[-1], dtype=p.dtype)
    jacobian = p[..., :, None] * eye - p[..., :, None] * p[..., None, :]
    return (jacobian @ g[..., None])[..., 0]
""",
    "attention": """
def attention(q, k, v):
    import math
    t, s, d = q.shape[-2], k.shape[-2], q.shape[-1]
    out = np.zeros(q.shape[:-1] + v.shape[-1:], dtype=q.dtype)
    lse = np.zeros(q.shape[:-1], dtype=q.dtype)
    for at in np.ndindex(q.shape[:-2]):
        for i in range(t):
            sees = i + s - t + 1
            z = [float(q[at][i] @ k[at][j]) / math.sqrt(d) for j in range(sees)]
            top = max(z)
            lse[at][i] = top + math.log(sum(math.exp(x - top) for x in z))
            for j in range(sees):
                out[at][i] += math.exp(z[j] - lse[at][i]) * v[at][j]
    return out, lse
""",
    "attention_backward": """
def attention_backward(g, q, k, v, lse):
    if q.ndim > 2:
        parts = [attention_backward(*(x[n] for x in (g, q, k, v, lse))) for n in range(len(q))]
        return tuple(np.stack(x) for x in zip(*parts))
    z = scores(q, k)
    p = np.where(np.isinf(z), 0, np.exp(z - lse[:, None]))
    dp = np.where(p > 0, g @ v.T, 0)
    dz = softmax_backward(p, dp)
    return dz @ k / q.shape[1] ** 0.5, (q.T @ dz).T / q.shape[1] ** 0.5, p.T @ g
""",
    "backward_in_blocks": """
def backward_in_blocks(g, q, k, v, out, lse, size):
    # Two passes over the keys: the first sums up each row, without `out`.
    t, s = q.shape[-2], k.shape[-2]
    def blocks():
        for start in range(0, s, size):
            keys, values = k[..., start : start + size, :], v[..., start : start + size, :]
            p = np.exp(scores(q, keys, s - t - start) - lse[..., None])
            yield start, keys, p, g @ values.swapaxes(-1, -2)
    shared = 0
    for _, _, p, dp in blocks():
        shared = shared + (p * dp).sum(-1, keepdims=True)
    dq, dk, dv = np.zeros(q.shape, q.dtype), np.zeros(k.shape, k.dtype), np.zeros(v.shape, v.dtype)
    for start, keys, p, dp in blocks():
        dz = p * (dp - shared) / q.shape[-1] ** 0.5
        dq = dq + dz @ keys
        dk[..., start : start + size, :] = dz.swapaxes(-1, -2) @ q
        dv[..., start : start + size, :] = p.swapaxes(-1, -2) @ g
    return dq, dk, dv
""",
}
TENSORS = {
    "attention": """
import torch
def attention(q, k, v):
    z = torch.from_numpy(scores(q, k))
    return torch.softmax(z, -1) @ torch.from_numpy(v), torch.logsumexp(z, -1)
""",
    "attention_backward": """
import torch
def attention_backward(g, q, k, v, lse):
    p = torch.exp(torch.from_numpy(scores(q, k)) - torch.from_numpy(np.asarray(lse)).unsqueeze(-1))
    g, q, k, v = map(torch.from_numpy, (g, q, k, v))
    dp = g @ v.mT
    dz = p * (dp - (p * dp).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
    return dz @ k, dz.mT @ q, p.mT @ g
""",
}


@pytest.mark.parametrize("style", [EINSUM, QUERIES, ROWS], ids=["einsum", "queries", "rows"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Einsum and lists; blocks of queries; a Jacobian, loops, recursion and two passes."""
    earns_every_point(style)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("first_block", "it is 0 for the keys [2, 3, 4, 5, 6]"),
        ("remainder_left_out", "it is 0 for the keys [6]"),
        ("mask_not_moved", "is s - t - start"),
        ("sum_over_the_block", "or of the block alone"),
        ("last_block", "does dq add up over them"),
        ("row_sum_forgotten", "there is one block: does each row subtract"),
    ],
)
def test_the_check_of_the_blocks_asks_for_what_is_wrong(grade, wrong, said):
    """It asked for sums over the blocks, whatever was wrong, and where there was one block alone."""
    [text] = read_wrong_answer(WRONG / f"{wrong}.py").answers.values()
    checks = {row.name: row.message for row in grade({"backward_in_blocks": text}).rows if row.kind == "check"}
    assert said in checks["check_backward_in_blocks"]


def test_by_hand_is_without_a_librarys_arrays(finds_no_library):
    """torch is not there where it is graded, not even for its tensors."""
    finds_no_library(TENSORS)
