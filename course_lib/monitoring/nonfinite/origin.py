"""Describe the operation that makes the first NaN or infinity, with what usually helps."""

from dataclasses import dataclass
from textwrap import fill

from course_lib.rendering import ReadableResult, Section

__all__ = ["NonfiniteOrigin", "Place"]

LINE_WIDTH = 76
REMEDIES = {
    "log log2 log10 log1p logit special_logit xlogy": (
        "The logarithm of 0 is -inf, and of less than 0 nan: keep its argument above 0 with clamp(min=...), or use a "
        "function that takes logits, such as log_softmax, logsigmoid or cross_entropy."
    ),
    "LogBackward Log2Backward Log10Backward XlogyBackward": (
        "The slope of the logarithm is infinite at 0. Masking its result afterwards, as with where(), hides the value "
        "and not the slope, since 0 times infinity is nan: mask or clamp its argument."
    ),
    "sqrt rsqrt SqrtBackward RsqrtBackward NormBackward LinalgVectorNormBackward": (
        "A root has an infinite slope at 0, and no value below: add a small number under the root, not after it."
    ),
    "div reciprocal true_divide DivBackward ReciprocalBackward": (
        "Something is divided by 0, or by nearly 0: add a small number to the divisor, or clamp it."
    ),
    "addcdiv _fused_adam _fused_adamw": (
        "The optimizer divides by a root of 0, or by nearly 0: its eps must be above 0, even in the dtype of the "
        "parameters, and float16 has no 1e-8; or a gradient's square grew out of the dtype's range."
    ),
    "AcosBackward AsinBackward AtanhBackward": "The slope is infinite at 1 and at -1: clamp the argument inside them.",
    "exp expm1 exp2 sinh cosh pow ExpBackward PowBackward": (
        "A power grew out of the dtype's range (exp does above 88 in float32, above 11 in float16), or its slope is "
        "infinite at 0: subtract the largest element before exp, or clamp the argument."
    ),
    "_softmax _log_softmax logsumexp": "A row holds only -inf, as when a mask hides everything: leave one entry open.",
    "nll_loss_forward nll_loss2d_forward": (
        "The mean over no targets is nan, as where all are ignored; and the loss is infinite if a mask has set the "
        "target class to -inf."
    ),
    "mean": (
        "The mean of no numbers is nan, as of an empty tensor; that of large ones grows out of the dtype's range, and "
        "one infinity makes it infinite, such as the score of a target that a mask hides."
    ),
    "mul add sub": (
        "A number grew out of the dtype's range, or an infinity met a 0 or another infinity: look at what it was "
        "given, the learning rate, and the scale of the loss."
    ),
    "mm addmm bmm baddbmm matmul convolution sum cumsum prod": (
        "A sum of products grew out of the dtype's range: look at the size of what went in, lower the learning rate, "
        "clip gradients, or use bfloat16 or float32 in place of float16."
    ),
    "_to_copy copy": "A number is beyond the range of the new dtype: float16 ends at 65504, bfloat16 as float32 does.",
    "var std var_mean": "The deviation of a single number is nan: it needs two, or correction=0.",
}


@dataclass(frozen=True)
class Place:
    """The module and the line of code that called an operation.

    Attributes
    ----------
    module : str
        The name of the innermost module, or ``(outside modules)``; empty if unknown, as where gradients are added up,
        or where the graph was there before.
    line : str
        The line of code, outside of torch and of this library.
    file : str
        Its file and number, such as ``model.py:12``; empty where there is no file, as in a notebook.
    of_node : bool
        Whether this is the place of a node's forward pass; else it is that of the operation itself, even where Python
        runs inside the backward pass, as in a hook, a function of your own, or a checkpointed region.
    """

    module: str
    line: str
    file: str
    of_node: bool = False


@dataclass(frozen=True, repr=False)
class NonfiniteOrigin(ReadableResult):
    """The first operation that makes what is not finite out of what is.

    Attributes
    ----------
    op : str
        Such as ``log``; empty if the numbers were there before the step: a parameter, or the batch.
    node : str
        The node of the backward pass that called it, such as ``SqrtBackward0``; empty outside of the backward pass.
    place : Place
        Where it was called; for a node, where the operation was called whose backward pass it is.
    nan, inf, size : int
        How many numbers of the result are nan, how many inf or -inf, and how many there are.
    dtype : str
        Of the result.
    given : tuple of str
        Its arguments: shape and range; those that it writes to only for a fused optimizer.
    update : bool
        Whether it is part of an update: of a parameter, or in an optimizer of torch's.
    """

    op: str
    node: str
    place: Place
    nan: int
    inf: int
    size: int
    dtype: str
    given: tuple[str, ...]
    update: bool = False

    @property
    def remedy(self) -> str:
        """What usually helps; empty if nothing is known."""
        if not self.op:
            return "No operation of the step made them: look at the data, and at the step before: its update may have."
        own = (self.node.rstrip("0123456789"), self.op.removeprefix("_foreach_").rstrip("_"))
        return next((text for name in own for names, text in REMEDIES.items() if name in names.split()), "")

    def sections(self) -> list[Section]:
        """Return what made the first of them, where, out of what, and what usually helps."""
        kinds = [f"{count:,} {kind}" for count, kind in ((self.nan, "nan"), (self.inf, "inf")) if count]
        what = f"{' and '.join(kinds)} of {self.size:,} numbers in {self.dtype}"
        if not self.op:
            return [Section(paragraphs=(f"{what} were there before, read in {self.spot}.", self.remedy))]
        by = f"{self.op} in the {'update of the parameters' if self.update else 'forward pass'}"
        by = f"{self.op}, called by {self.node} in the backward pass," if self.node else by
        of = f"Its forward pass is in {self.spot}." if self.place.of_node else f"It is in {self.spot}."
        of = of if self.place.module else ""
        given = f"It was given {'; '.join(self.given)}." if self.given else ""
        return [Section(paragraphs=tuple(filter(None, (f"{by} made {what}.", of, given, self.remedy))))]

    def __repr__(self) -> str:
        return fill(" ".join(map(str, self.sections()[0].paragraphs)), LINE_WIDTH)

    @property
    def spot(self) -> str:
        """The place, in words."""
        module = "no module" if self.place.module.startswith("(") else f"module {self.place.module!r}"
        at = f" ({self.place.file})" if self.place.file else ""
        return f"{module}: {self.place.line}{at}" if self.place.line else module
