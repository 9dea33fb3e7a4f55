"""What a machine shows without JavaScript: its graph and a table of its gradients, drawn and computed by the engine."""

import ast
import html
from collections.abc import Mapping

from course_lib import autograd
from course_lib.figures import backward_stepper

FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "sigmoid")
UNTOLD = (2.0, 3.0)  # values of inputs that the page does not give


def complete_inputs(lines: str, given: Mapping[str, float]) -> dict[str, float]:
    """Return a value for each name that the lines use and do not assign, in the order of their first use."""
    names = [node for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.Name)]
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    names.sort(key=lambda node: (node.lineno, node.col_offset))
    free = dict.fromkeys(node.id for node in names if node.id not in assigned.union(FUNCTIONS))
    return {name: float(given.get(name, UNTOLD[i % 2])) for i, name in enumerate(free)}


def draw_still(lines: str, inputs: Mapping[str, float]) -> str:
    """Run the lines on tensors, forward and backward, and return a picture and a table as HTML."""
    leaves = {name: autograd.tensor(value, requires_grad=True) for name, value in inputs.items()}
    scope = {function: getattr(autograd, function) for function in FUNCTIONS} | leaves
    *before, last = ast.parse(lines).body
    exec(compile(ast.Module(before, []), "machine", "exec"), scope)  # noqa: S102 - lines of the book's own pages
    result = eval(compile(ast.Expression(last.value), "machine", "eval"), scope)  # noqa: S307 - these, too
    names = {name: value for name, value in scope.items() if isinstance(value, autograd.Tensor)}
    if isinstance(last, ast.Assign):
        names[last.targets[0].id] = result
    drawing = backward_stepper(result, names=names, title=f"The backward pass of {ast.unparse(last)}").drawing
    said = [(box.label, ", ".join(line.text for line in box.notes if line.until is None)) for box in drawing.boxes]
    rows = "".join(f"<tr><td>{html.escape(a)}</td><td>{html.escape(b)}</td></tr>" for a, b in reversed(said))
    head = '<thead><tr><th scope="col">forward pass</th><th scope="col">backward pass</th></tr></thead>'
    return f'<div class="still">{drawing.svg()}<table>{head}<tbody>{rows}</tbody></table></div>'
