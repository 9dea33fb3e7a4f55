"""Errors say what must hold, what came, and what to do; and are RuntimeErrors, as torch's are."""

import re

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError, CourseError, GradcheckError

X = ag.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
V = ag.tensor([1.0, 2.0], requires_grad=True)


def again():
    y = (V * V).sum()
    y.backward()
    y.backward()


MISTAKES = {
    "a backward of many numbers": (
        lambda: (X * 2).backward(),
        ["single number", "(2, 3)", ".sum()", "pass a gradient"],
    ),
    "a gradient of another shape": (
        lambda: (X * 2).backward(ag.ones(3)),
        ["shape of the output, (2, 3)", "(3,)", "Expand or sum"],
    ),
    "a backward without a graph": (
        lambda: ag.tensor(1.0).backward(),
        ["grad_fn is None", "requires_grad=True", "no_grad"],
    ),
    "a second backward": (again, ["MulBackward0", "walked before", "frees", "retain_graph=True"]),
    "fewer cotangents than outputs": (
        lambda: ag.grad([V.sum(), V.prod()], V, [None]),
        ["each of the 2 outputs", "has 1", "None stands for 1"],
    ),
    "a strategy that is none": (
        lambda: ag.jacobian(lambda x: x, V, strategy="forward"),
        ["'reverse-mode', or 'forward-mode'", "'forward'", "Use reverse mode"],
    ),
    "a Jacobian of forward mode to be differentiated": (
        lambda: ag.jacobian(lambda x: x, V, create_graph=True, strategy="forward-mode"),
        ["without create_graph", "create_graph=True", "Use reverse mode"],
    ),
    "gradients of integers": (lambda: ag.tensor([1, 2], requires_grad=True), ["floating point", "int64", "x.float()"]),
    "a product along two dimensions": (lambda: X.prod((0, 1)), ["prod()", "one dimension", "(0, 1)", "once for each"]),
    "a number joined to a vector": (lambda: ag.cat([V, ag.tensor(1.0)]), ["cat()", "(2,), ()", "stack()"]),
    "an argmax of nothing": (
        lambda: ag.zeros(0, 2).argmax(),
        ["argmax() needs at least one element", "(0, 2)", "before you reduce it"],
    ),
    "an argmax along no dimension": (lambda: X.argmax(2), ["[-2, 1]", "2 dimensions", "Look at .shape"]),
    "nothing where a tensor belongs": (lambda: ag.relu(None), ["relu() takes tensors", "NoneType", "tensor(...)"]),
    "a list for an array": (lambda: ag.from_numpy([1.0]), ["from_numpy() takes a NumPy array", "list", "tensor(...)"]),
    "shapes that do not broadcast": (lambda: X + V, ["add", "(2, 3) and (2,)", "3 and 2 at dimension -1", "unsqueeze"]),
    "a product that does not exist": (lambda: X @ V, ["matmul()", "(2, 3) and (2,)", "3 and 2", "Transpose"]),
    "a product of stacks": (
        lambda: ag.ones(2, 3, 4) @ ag.ones(3, 4, 5),
        ["last two", "(2, 3, 4) and (3, 4, 5)", "unsqueeze"],
    ),
    "a product of two dtypes": (
        lambda: X @ X.double().T,
        ["matmul()", "the same dtype", "float32 and float64", ".double()"],
    ),
    "a bias of another dtype": (
        lambda: ag.linear(X, X, V.double()),
        ["linear()", "the same dtype", "float32 and float64", ".float()"],
    ),
    "stacks of another length": (
        lambda: ag.bmm(ag.ones(3, 2, 2), ag.ones(1, 2, 2)),
        ["as many matrices", "(3, 2, 2) and (1, 2, 2)", "matmul() broadcasts"],
    ),
    "mm of vectors": (lambda: ag.mm(V, V), ["mm() needs 2 and 2 dimensions", "(2,) and (2,)", "matmul()"]),
    "a product of numbers": (lambda: ag.tensor(1.0) @ V, ["vectors or matrices", "()", "Multiply with *"]),
    "outer of matrices": (lambda: ag.outer(X, V), ["two vectors", "(2, 3)", "Flatten"]),
    "a shape of another size": (
        lambda: X.reshape(4, 2),
        ["as many elements", "6 for shape (2, 3)", "(4, 2) does not", "-1"],
    ),
    "two open sizes": (lambda: X.reshape(-1, -1), ["more than one size open"]),
    "a dimension that is not there": (lambda: X.sum(dim=2), ["[-2, 1]", "2 dimensions", "it is 2"]),
    "an index out of range": (lambda: X[2], ["fit the shape (2, 3)", "out of bounds", "Look at .shape"]),
    "cat of nothing": (lambda: ag.cat([]), ["at least one", "empty"]),
    "cat of unlike shapes": (lambda: ag.cat([X, V]), ["agree in every dimension but dim=0", "(2, 3), (2,)", "stack()"]),
    "sections that do not add up": (lambda: ag.split(X, [1, 1], 1), ["add up to 3", "[1, 1] adds up to 2"]),
    "a negative section": (lambda: ag.split(X, [3, -1]), ["not be negative", "[3, -1] adds up to 2"]),
    "a split into nothing": (lambda: ag.split(X, 0), ["add up to 2", "(2, 3)", "positive size"]),
    "a split of a number": (lambda: ag.split(ag.tensor(1.0), 1), ["shape ()", "a 0-d tensor cannot be split"]),
    "cat of a matrix and a vector": (lambda: ag.cat([X.T, V], 1), ["dim=1", "(3, 2), (2,)", "stack()"]),
    "a difference of booleans": (lambda: (V > 1) - (V > 1), ["sub must be defined", "boolean subtract", "Convert"]),
    "a stack of unlike shapes": (lambda: ag.stack([X, X.T]), ["the same shape", "(2, 3), (3, 2)", "cat()"]),
    "dimensions joined backwards": (lambda: X.flatten(1, 0), ["from the first to the last", "1 > 0", "Swap"]),
    "a condition of another shape": (lambda: ag.where(V > 0, X, X), ["where()", "(2, 3) and (2, 3)", "(2,)"]),
    "a dimension permuted twice": (lambda: X.permute(0, 0), ["permute()", "(2, 3)", "repeated axis", ".shape"]),
    "an expansion of 2": (lambda: X.expand(3, 3), ["expand()", "(2, 3)", "(3,3)"]),
    "an expansion to fewer": (lambda: X.expand(3), ["expand()", "(2, 3)", ".shape"]),
    "a number of no element": (
        lambda: ag.index_select(X, 1, ag.tensor([3])),
        ["0 to 2 for dim 1 of the shape (2, 3)", "it holds [3]"],
    ),
    "a selection from the end": (lambda: ag.index_select(X, 1, ag.tensor([-1])), ["it holds [-1]", "from the end"]),
    "a selection by a matrix": (lambda: ag.index_select(X, 1, ag.tensor([[1]])), ["one dimension", "shape (1, 1)"]),
    "a selection by a mask": (lambda: ag.index_select(X, 1, X[0] > 0), ["all integers", "dtype is bool"]),
    "a gathering that does not fit": (
        lambda: ag.gather(X, 0, ag.tensor([1])),
        ["as many dimensions", "shape (2, 3)", "its shape (1,)"],
    ),
    "a gathering of too many": (lambda: ag.gather(X, 0, ag.ones(1, 4).long()), ["no larger in any but dim", "(1, 4)"]),
    "a gathering from the end": (lambda: ag.gather(X, 1, ag.tensor([[-1], [0]])), ["0 to 2", "it holds [-1, 0]"]),
    "a sum that would enlarge": (lambda: ag.addmm(ag.ones(5, 2, 2), X, X.T), ["expand()", "(5, 2, 2)"]),
    "t of a cube": (lambda: ag.t(ag.ones(1, 2, 3)), ["at most 2", "(1, 2, 3)", "transpose()"]),
    "a mean of integers": (lambda: ag.tensor([1, 2]).mean(), ["mean() needs a floating point", "int64", "x.float()"]),
    "the largest of nothing": (lambda: ag.ones(0, 3).amax(0), ["at least one element", "(0, 3)", "dim=(0,)"]),
    "numpy of a graph": (lambda: V.numpy(), ["do not require grad", ".detach().numpy()"]),
    "item of many": (lambda: V.item(), ["exactly one element", "(2,)", ".tolist()"]),
    "an input without gradient": (lambda: ag.grad(V.sum(), ag.ones(2)), ["input 0", "(2,)", "requires_grad_()"]),
    "an unused input": (lambda: ag.grad(V.sum(), [V, X]), ["input 1", "(2, 3)", "allow_unused=True"]),
    "a gradient set with another shape": (
        lambda: setattr(V, "grad", ag.ones(3)),
        ["its tensor's shape and dtype, (2,) and float32", "(3,) and float32", "Convert"],
    ),
    "a gradient set with another dtype": (lambda: setattr(V, "grad", ag.ones(2).double()), ["(2,) and float64"]),
    "gradients of nothing": (lambda: ag.grad(V.sum(), []), ["inputs must name a tensor", "empty"]),
    "a backward to nothing": (lambda: V.sum().backward(inputs=[]), ["inputs must name a tensor", "empty"]),
    "a tensor that cannot stop": (lambda: (V * 2).requires_grad_(False), ["MulBackward0", ".detach()"]),
    "a word among numbers": (lambda: V + "2", ["a tensor, a NumPy array or a number", "str"]),
    "no bounds": (lambda: ag.clamp(V), ["clamp() needs a bound", "both None"]),
    "an unknown approximation": (lambda: ag.gelu(V, approximate="fast"), ['"none" or "tanh"', "'fast'"]),
    "an unknown reduction": (lambda: ag.mse_loss(V, V, reduction="max"), ['"mean", "sum" or "none"', "'max'"]),
    "targets of another shape": (
        lambda: ag.cross_entropy(X, ag.tensor([1])),
        ["without the classes, (2,)", "(2, 3) and (1,)"],
    ),
    "a class that is not there": (lambda: ag.cross_entropy(X, ag.tensor([1, 3])), ["from 0 to 2", "1 to 3", "labels"]),
    "yes or no of another shape": (lambda: ag.binary_cross_entropy_with_logits(X, V), ["(2, 3)", "(2,)"]),
    "a weight that would enlarge": (
        lambda: ag.binary_cross_entropy_with_logits(V, V.detach(), weight=X.T.detach()),
        ["broadcast to the shape of input, (2,)", "(3, 2)"],
    ),
    "more smoothing than there is": (
        lambda: ag.cross_entropy(X, ag.tensor([1, 2]), label_smoothing=1.5),
        ["from 0 to 1", "1.5"],
    ),
    "the farthest of nothing": (lambda: ag.vector_norm(ag.ones(0), float("inf")), ["at least one element", "(0,)"]),
    "a norm of integers": (lambda: ag.vector_norm(ag.tensor([1])), ["vector_norm() needs a floating", "int64"]),
    "another normalized shape": (lambda: ag.layer_norm(X, (2,)), ["normalized_shape, (2,)", "(2, 3)"]),
    "batch normalization of one": (
        lambda: ag.batch_norm(X[:1], None, None, training=True),
        ["more than one value", ".eval()"],
    ),
    "batch normalization of a vector": (
        lambda: ag.batch_norm(V, None, None, training=True),
        ["channels are dimension 1", "(2,)", "Permute or reshape"],
    ),
    "batch statistics of another size": (
        lambda: ag.batch_norm(X, ag.ones(2), ag.ones(3)),
        ["(2, 3)", "'running_mean': (2,)", "'running_var': (3,)"],
    ),
    "batch statistics that are missing": (lambda: ag.batch_norm(X, None, None), ["outside of training", "None"]),
    "an impossible probability": (lambda: ag.dropout(X, 1.5), ["[0, 1]", "1.5"]),
    "a module without forward": (lambda: ag.nn.Module()(X), ["define forward()", "Module does not"]),
    "an optimizer of nothing": (lambda: ag.optim.SGD([]), ["needs parameters", "empty"]),
    "an optimizer of a tensor": (lambda: ag.optim.SGD(V), ["a list of parameters", "(2,)", "Pass [x]"]),
    "an optimizer of a result": (lambda: ag.optim.SGD([V * 2]), ["changes leaves", "the result of MulBackward0"]),
    "an optimizer of a word": (lambda: ag.optim.SGD([{"params": ["w"]}]), ["changes leaves", "a str"]),
    "a negative learning rate": (lambda: ag.optim.SGD([V], lr=-1), ["lr must not be negative", "-1"]),
    "a learning rate of a group": (lambda: ag.optim.Adam([{"params": [V], "lr": float("nan")}]), ["lr", "nan"]),
    "a memory without end": (lambda: ag.optim.Adam([V], betas=(0.9, 1.0)), ["betas", "below 1", "(0.9, 1.0)"]),
    "nesterov without momentum": (lambda: ag.optim.SGD([V], nesterov=True), ["needs a momentum", "dampening"]),
    "nesterov with dampening": (
        lambda: ag.optim.SGD([V], momentum=0.9, dampening=0.1, nesterov=True),
        ["needs a momentum", "no dampening", "dampening=0."],
    ),
    "rows of unlike lengths": (lambda: ag.tensor([[1, 2], [3]]), ["equally long rows", "inhomogeneous"]),
    "a word for a number": (lambda: ag.tensor(["a"]), ["real numbers", "<U1", "'a'"]),
    "nothing for a number": (lambda: ag.tensor(None), ["real numbers", "object", "None"]),
    "an array for a tensor": (lambda: ag.nn.Linear(3, 2)(np.ones((2, 3))), ["linear()", "ndarray", "tensor(...)"]),
    "a list for a tensor": (lambda: ag.relu([1.0]), ["relu()", "list", "tensor(...)"]),
    "a layer in a list": (lambda: ag.nn.Sequential([ag.nn.ReLU()]), ["takes modules", "number 0 is a list", "*list"]),
    "a share beyond all": (lambda: ag.nn.Dropout(1.5), ["[0, 1]", "1.5"]),
    "images for BatchNorm1d": (lambda: ag.nn.BatchNorm1d(3)(ag.ones(2, 3, 4, 4)), ["(N, C, L)", "(2, 3, 4, 4)"]),
    "a weight for each row": (
        lambda: ag.cross_entropy(X, ag.tensor([1, 2]), weight=ag.ones(2)),
        ["each of the 3 classes", "(2,)", "none"],
    ),
    "targets in a list": (
        lambda: ag.cross_entropy(X, [1, 2]),
        ["cross_entropy() takes tensors", "got a list", "tensor(...)"],
    ),
    "classes in a list": (lambda: ag.nll_loss(X, [1, 2]), ["nll_loss() takes tensors", "got a list"]),
    "a mean error from a list": (lambda: ag.mse_loss(V, [1.0, 2.0]), ["mse_loss() takes tensors", "got a list"]),
    "yes or no in a list": (
        lambda: ag.binary_cross_entropy_with_logits(V, [1.0, 0.0]),
        ["binary_cross_entropy_with_logits() takes tensors", "got a list"],
    ),
    "weights in a list": (
        lambda: ag.cross_entropy(X, ag.tensor([1, 2]), weight=[1.0, 1.0, 2.0]),
        ["cross_entropy() takes tensors", "got a list"],
    ),
    "a weight of the classes that is to be trained": (
        lambda: ag.cross_entropy(X, ag.tensor([1, 2]), weight=ag.ones(3, requires_grad=True)),
        ["weight must not require grad", "nll_loss() has no gradient for it", "weight.detach()"],
    ),
    "a weight of smoothed classes that is to be trained": (
        lambda: ag.nn.CrossEntropyLoss(ag.ones(3, requires_grad=True), label_smoothing=0.1)(X, ag.tensor([1, 2])),
        ["weight must not require grad", "weight.detach()"],
    ),
    "a Jacobian at an array": (
        lambda: ag.jacobian(ag.exp, np.ones(2)),
        ["inputs must be a tensor", "several in a list", "numpy.ndarray", "tensor(...)"],
    ),
    "a Jacobian at torch's tensor": (lambda: ag.vjp(ag.exp, torch.ones(2)), ["inputs must be", "got a torch.Tensor"]),
    "a Jacobian at a dict": (lambda: ag.jvp(ag.exp, {"x": V}, V), ["inputs must be", "got a str"]),
    "a product with numbers": (lambda: ag.jvp(ag.exp, V, [1.0, 2.0]), ["v must be a tensor", "got a float"]),
    "a product with an array": (lambda: ag.hvp(ag.sum, V, np.ones(2)), ["v must be a tensor", "numpy.ndarray"]),
    "a function without a return": (
        lambda: ag.jacobian(lambda x: None, V),
        ["returns must be a tensor", "NoneType", "missing return"],
    ),
    "a function that returns a number": (
        lambda: ag.vjp(lambda x: 3.0, V),
        ["returns must be", "got a float", ".item()"],
    ),
    "a function that returns half of it": (
        lambda: ag.jvp(lambda x: (x, None), V, V),
        ["returns must be", "got a NoneType"],
    ),
    "a Hessian of two": (lambda: ag.hessian(lambda x: (x, x), V), ["single number", "returned a tuple", "alone"]),
    "a check without a return": (lambda: ag.gradcheck(lambda x: None, V.double()), ["return", "NoneType"]),
    "a check where there is no value": (
        lambda: ag.gradcheck(ag.sqrt, ag.tensor([-1.0], dtype=ag.float64, requires_grad=True)),
        ["they give nan", "not finite there", "move the input to where it is"],
    ),
    "classes that are not whole": (
        lambda: ag.nll_loss(X, ag.tensor([1.0, 2.0])),
        ["classes from 0 to 2", "as float32", ".long()"],
    ),
    "a loss of one number": (lambda: ag.nll_loss(X[0, 0], ag.tensor(0)), ["without the classes", "() and ()"]),
    "a cross-entropy of integers": (
        lambda: ag.cross_entropy(ag.tensor([[1, 2]]), ag.tensor([0])),
        ["floating point", "int64", "x.float()"],
    ),
    "an integer to a negative power": (
        lambda: ag.tensor([1, 2]) ** -1,
        ["pow must be defined", "negative", "allowed. "],
    ),
    "a list written into a tensor": (lambda: ag.zeros(2).copy_([1.0, 2.0]), ["a list", "tensor(...)"]),
    "a softmax of integers": (lambda: ag.softmax(ag.tensor([1, 2]), 0), ["softmax() needs a floating", "int64"]),
    "comparing unlike shapes": (lambda: X == V, ["eq", "(2, 3) and (2,)", "3 and 2 at dimension -1"]),
    "bits of fractions": (lambda: V & V, ["bitwise_and must be defined", "Convert"]),
    "integers to the power -1": (lambda: ag.tensor([1, 2]) ** ag.tensor([-1, 1]), ["pow must be defined", "negative"]),
    "classes that are fractions": (
        lambda: ag.cross_entropy(X, ag.tensor([0.0, 1.0])),
        ["shape of input, (2, 3)", "float32", "(2,)", "target.long()"],
    ),
    "a parameter in two groups": (lambda: ag.optim.SGD([{"params": [V]}, {"params": [V]}]), ["one group", "in two"]),
    "a weight that layer_norm would broadcast": (lambda: ag.layer_norm(X, (3,), weight=ag.ones(1)), ["(3,)", "(1,)"]),
    "a word among many": (lambda: ag.tensor(["a", "b", "c", "d"]), ["real numbers", "['a' 'b' 'c']. Convert"]),
    "a matrix times a vector": (lambda: X @ V, ["the last dim of the first and the only one of the second"]),
    "a matrix times a matrix": (lambda: X @ X, ["the last dim of the first and the second to last of the second"]),
    "mv of matrices": (lambda: ag.mv(X, X.T), ["mv() needs 2 and 1 dimensions", "(2, 3) and (3, 2)", "matmul()"]),
    "dot of matrices": (lambda: ag.dot(X, X.T), ["dot() needs 1 and 1 dimensions", "(2, 3) and (3, 2)", "matmul()"]),
    "a selection by many": (
        lambda: ag.index_select(X, 1, ag.arange(20)),
        ["0 to 2", "its shape (20,)", "it holds [0, 1, 2, 3, 4, 5, 6, 7, 8]. "],
    ),
    "the reciprocal norm of nothing": (
        lambda: ag.vector_norm(ag.ones(0), -1),
        ["vector_norm()", "one element", "(0,)"],
    ),
    "the smallest of nothing": (lambda: ag.ones(0, 3).amin(0), ["amin() needs at least one element", "(0, 3)"]),
    "a variance of integers": (lambda: ag.tensor([1, 2]).var(), ["var() needs a floating point", "int64"]),
    "a deviation of integers": (lambda: ag.tensor([1, 2]).std(), ["std() needs a floating point", "int64"]),
    "a log_softmax of integers": (lambda: ag.log_softmax(ag.tensor([1, 2]), 0), ["log_softmax() needs", "int64"]),
    "shapes that do not broadcast twice": (lambda: ag.ones(2, 3) + ag.ones(4, 5), ["sizes 3 and 5 at dimension -1"]),
    "shapes that do not broadcast in front": (
        lambda: ag.ones(2, 1, 3) + ag.ones(4, 5, 3),
        ["(2, 1, 3) and (4, 5, 3)", "sizes 2 and 4 at dimension -3"],
    ),
    "an open size beside 0": (lambda: ag.ones(0, 3).reshape(0, -1), ["as many elements", "0 for shape (0, 3)", "-1"]),
    "gradcheck in float32": (lambda: ag.gradcheck(ag.sin, V), ["float64", "input 0 is float32"]),
    "gradcheck of constants": (lambda: ag.gradcheck(ag.sin, ag.ones(2)), ["none does", "requires_grad=True"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_message_says_what_must_hold_what_came_and_what_to_do(mistake):
    """The message has the names, shapes and remedies that belong to the mistake, and is one of ours."""
    act, parts = MISTAKES[mistake]
    with pytest.raises(RuntimeError) as caught:
        act()
    assert isinstance(caught.value, CourseError)
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, str(caught.value)
    assert re.search(r"\.( |$)", str(caught.value))


@pytest.mark.parametrize("theirs", [torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(())), jnp.ones(2)])
def test_gradcheck_of_another_librarys_tensors_names_its_own(theirs):
    """Alone or among others, and not that none requires grad."""
    said = rf"but got a {type(theirs).__name__} of .*torch\.autograd\.gradcheck or .*or course_lib\.oracle\.compare"
    for inputs in (theirs, [theirs], (V, theirs)):
        with pytest.raises(AutogradError, match=said):
            ag.gradcheck(lambda *xs: xs[-1] ** 2, inputs)


def test_gradcheck_names_the_element_and_both_values():
    """A wrong gradient is located: output, input, element, what the walk gives and what differences give."""

    class Wrong(ag.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x * ag.tensor(np.array([1.0, 1.5]))

    x, y = (ag.tensor(np.array(v), requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    expected = r"output 0 at element \(1,\) with respect to input 1 at element \(1,\) .* gives 3 and they give 2"
    with pytest.raises(GradcheckError, match=expected):
        ag.gradcheck(Wrong.apply, [x, y])
    assert ag.gradcheck(Wrong.apply, [x, y], raise_exception=False) is False
    with pytest.raises(RuntimeError, match="must agree with finite differences"):
        ag.gradgradcheck(lambda x: Wrong.apply(x.detach() * 1, x) * x, x)
