"""A tensor among Python's and NumPy's own things, against torch's."""

import pickle
from inspect import isfunction

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError

LIBRARIES = (ag, torch)


@pytest.mark.parametrize("left", [np.array([1.0, 2.0]), np.float64(2.0)], ids=["array", "number"])
def test_numpy_leaves_it_to_the_tensor_on_its_right(left):
    """What comes is one tensor, whose gradient is recorded, and not an array of tensors."""
    x = ag.tensor([3.0, 4.0], requires_grad=True)
    for y in (left * x, left + x, left - x, left / x):
        assert isinstance(y, ag.Tensor)
        assert y.requires_grad
    (left * x).sum().backward()
    assert x.grad.tolist() == np.broadcast_to(left, 2).tolist()


def test_numpy_is_given_the_memory_or_a_copy_as_it_asks():
    """In the dtype that it asks for; of what requires grad it gets nothing."""
    x = ag.tensor([1.0, 2.0])
    shared, copied, wide = np.asarray(x), np.array(x), np.asarray(x, dtype=np.float64)
    shared[0] = 7
    assert (x.tolist(), copied.tolist(), wide.tolist()) == ([7, 2], [1, 2], [1, 2])
    assert (shared.dtype, wide.dtype) == (np.float32, np.float64)
    with pytest.raises(AutogradError, match=r"detach\(\)\.numpy\(\)"):
        np.asarray(x.requires_grad_())


def test_asking_again_for_gradients_changes_nothing():
    """A leaf keeps its hooks and its gradient, a result its place in the graph."""
    for lib in LIBRARIES:
        x, seen = lib.tensor([1.0, 2.0], requires_grad=True), []
        x.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        y = (x * 3).requires_grad_()
        x.requires_grad_()
        y.sum().backward()
        assert (seen, x.grad.tolist(), y.grad_fn is None) == ([[3, 3]], [3, 3], False)


def test_a_constant_beside_the_leaf_has_its_memory():
    """What is written to the one is in the other, whichever way it was made."""
    for lib in LIBRARIES:
        x, other = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([5.0, 6.0])
        x.detach()[0] = 7.0
        assert x.tolist() == [7, 2]
        x.data = other
        other[1] = 8.0
        assert x.tolist() == [5, 8]


def test_sizes_are_told_as_torch_tells_them():
    """All of them or one, and how many there are along the first."""
    for lib in LIBRARIES:
        x = lib.ones(2, 3)
        assert (tuple(x.size()), x.size(1), x.size(-2), len(x), x.dim(), x.numel()) == ((2, 3), 3, 2, 2, 2, 6)


def test_one_element_is_a_number_to_python():
    """Whatever its shape; as an index it must be an integer."""
    for lib in LIBRARIES:
        x = lib.tensor([[2.7]])
        assert (int(x), float(lib.tensor([0.5])), bool(x), bool(lib.tensor([0.0]))) == (2, 0.5, True, False)
        assert "abc"[lib.tensor(1)] == "b"
        with pytest.raises(TypeError):
            "abc"[lib.tensor(1.0)]


def test_a_number_is_formatted_as_a_number_and_anything_else_as_it_prints():
    """A vector of one element too."""
    for lib in LIBRARIES:
        assert (f"{lib.tensor(1.5):.3f}", f"{lib.tensor([1.5])}") == ("1.500", "tensor([1.5000])")
    assert f"{ag.tensor([1.5]):>20}" == "    tensor([1.5000])"


def test_tensors_are_told_apart_in_sets_and_dicts_by_what_they_are():
    """Equal elements do not make them one."""
    for lib in LIBRARIES:
        x, y = lib.tensor(1.0), lib.tensor(1.0)
        assert len({x, y, x}) == 2
        assert len({hash(t) for t in (x, y)}) == 2


def test_a_loop_goes_over_rows_that_are_part_of_the_graph():
    """Their gradients come together in the whole; a number has no rows."""
    for lib in LIBRARIES:
        x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        first, second = x
        (first * second).sum().backward()
        assert x.grad.tolist() == [[3, 4], [1, 2]]
        with pytest.raises(TypeError):
            iter(lib.tensor(1.0))


def test_conversions_have_torchs_dtype_and_elements():
    """Towards 0 to integers, and to true for all but 0; to that of another tensor, too."""
    found = []
    for lib in LIBRARIES:
        x = lib.tensor([-1.7, 0.0, 0.5])
        converted = [x.long(), x.bool(), x.double(), x.long().float(), lib.tensor([1, 2]).type_as(x)]
        found.append([(str(y.dtype).removeprefix("torch."), y.tolist()) for y in converted])
    assert found[0] == found[1]


def test_an_array_and_the_tensor_around_it_are_one():
    """Of from_numpy(); tensor() copies."""
    for lib in LIBRARIES:
        array = np.array([1.0, 2.0])
        around, apart = lib.from_numpy(array), lib.tensor(array)
        array[0] = 7
        around[1] = 8.0
        assert (array.tolist(), around.tolist(), apart.tolist()) == ([7, 8], [7, 8], [1, 2])


@pytest.mark.parametrize("number", [np.float32(2), np.float64(2), np.int64(2), np.int32(2)], ids=repr)
def test_a_number_of_numpy_on_the_right_is_a_number(number):
    """It leaves single precision alone, as Python's own does."""
    found = []
    for lib in LIBRARIES:
        x = lib.tensor([3.0, 4.0])
        made = [x * number, x + number, x / number, x > number]
        found.append([(str(y.dtype).removeprefix("torch."), y.tolist()) for y in made])
    assert found[0] == found[1]


def test_operations_are_methods():
    """As in torch; four are functions only, also there."""
    from course_lib.autograd import ops
    from course_lib.autograd.ops import inplace

    for module, functions_only in ((ops, {"cat", "stack", "vector_norm", "where"}), (inplace, set())):
        methods = {name: getattr(module, name) for name in {*module.__all__} - functions_only}
        assert [name for name, function in methods.items() if getattr(ag.Tensor, name, None) is not function] == []


@pytest.mark.parametrize("name", [name for name in ag.__all__ if isfunction(getattr(ag, name))])
def test_a_function_travels_to_another_process(name):
    """Pickle finds it by its name, even where a factory made it."""
    function = getattr(ag, name)
    assert pickle.loads(pickle.dumps(function)) is function
