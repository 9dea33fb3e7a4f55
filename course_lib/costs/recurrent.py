"""Cost of recurrent layers: one product with the input for the whole sequence, one with the state at each step."""

from course_lib.costs.cost import Cost

__all__ = ["gru", "lstm", "rnn"]


def _recurrent(name: str, gates: int, t: int, b: int, d: int, h: int, *, fused: bool = False) -> Cost:
    """Cost of a recurrent layer with the given number of gates."""
    width = gates * h
    from_input, from_state = 2 * t * b * d * width, 2 * t * b * h * width
    first = 0 if fused else from_state // t  # the initial state is a constant: nothing is sent back to it
    return Cost(
        name=name,
        forward=from_input + from_state,
        input_backward=from_input * (not fused),
        weight_backward=from_input * (1 + fused) + 2 * from_state - first,
        parameters=width * (d + h + 2),
    )


def rnn(t: int, b: int, d: int, h: int) -> Cost:
    r"""Cost of an RNN layer :math:`h_t = \tanh(x_t W + h_{t-1} U + b)`: 2 t b h (d + h) FLOPs forward.

    Parameters
    ----------
    t, b, d, h : int
        Steps, batch, features of the input, of the state.

    Returns
    -------
    Cost
        Backward, the state's products are needed whether or not the input wants a gradient, t - 1 times for the state
        and t times for U. They are under ``weight_backward``. Saved bytes are not given: they differ from kernel to
        kernel.

    Examples
    --------
    >>> rnn(4, 2, 3, 5).forward
    640
    """
    return _recurrent("rnn", 1, t, b, d, h)


def gru(t: int, b: int, d: int, h: int) -> Cost:
    """Cost of a GRU layer: three gates, so three times the FLOPs of :func:`rnn`, with the same parameters t, b, d, h.

    Examples
    --------
    >>> gru(4, 2, 3, 5).forward == 3 * rnn(4, 2, 3, 5).forward
    True
    """
    return _recurrent("gru", 3, t, b, d, h)


def lstm(t: int, b: int, d: int, h: int, *, fused: bool = False) -> Cost:
    """Cost of an LSTM layer: four gates, so four times the FLOPs of :func:`rnn`, with the same parameters t, b, d, h.

    ``fused`` counts the one kernel that torch calls for float32 on CPU: it computes all gradients, wanted or not.

    Examples
    --------
    >>> lstm(4, 2, 3, 5).forward == 4 * rnn(4, 2, 3, 5).forward
    True
    """
    return _recurrent("lstm", 4, t, b, d, h, fused=fused)
