"""Right answers in an unusual form: each gets every point and no word of blame."""

import json

import nbformat
import pytest

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import grade_class

DOUBLE = "def double(x):\n    return 2 * x\n"
ANSWERS = {
    "warnings on stderr": "import sys, warnings\nwarnings.warn('old')\nprint('!', file=sys.stderr)\n" + DOUBLE,
    "float32 inside": "def double(x):\n    return (2 * np.asarray(x, np.float32)).astype(np.float64) * 0 + 2 * x",
    "another dtype": "def double(x):\n    return (2 * x).astype(np.longdouble)",
    "a torch tensor": "def double(x):\n    import torch\n    return 2 * torch.tensor(np.asarray(x))",
    "nested tuples": "def double(x):\n    return tuple(map(tuple, (2 * x).tolist())) if x.ndim == 2 else 2 * x",
    "numpy scalars in a list": "def double(x):\n    return [list(row) for row in 2 * x] if x.ndim == 2 else 2 * x",
    "a masked array": "def double(x):\n    return np.ma.masked_array(2 * x)",
    "Fortran order and a view": "def double(x):\n    "
    "return np.asfortranarray(np.hstack([2 * x, x]))[..., : x.shape[-1]]",
    "a big-endian array": "def double(x):\n    return (2 * x).astype('>f8')",
    "a transposed view": "def double(x):\n    return (2 * x.T).T",
    "unicode names": "def verdoppelt_Größe(größe, π=2):\n    return π * größe\ndouble = verdoppelt_Größe",
    "a lambda": "double = lambda array: array + array",
    "a callable object": "class Double:\n    def __call__(self, x):\n        return x * 2\ndouble = Double()",
    "a decorator and a cache": "import functools\ndef noisy(f):\n    @functools.wraps(f)\n    def g(*a, **k):\n"
    "        print('called', a)\n        return f(*a, **k)\n    return g\n@noisy\n" + DOUBLE,
    "slow but within limits": "import time\ntime.sleep(1)\n" + DOUBLE,
    "a figure": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n" + DOUBLE,
    "a progress bar": "import sys\nfor i in range(100):\n    print(f'\\r{i} %', end='', flush=True)\n" + DOUBLE,
    "a magic": "%matplotlib inline\n%time 1 + 1\n" + DOUBLE,
    "a thread pool": "from concurrent.futures import ThreadPoolExecutor\ndef double(x):\n"
    "    with ThreadPoolExecutor(4) as pool:\n        return np.array(list(pool.map(lambda row: 2 * row, x)))",
    "worker processes": "import multiprocessing as mp\ndef twice(v):\n    return 2 * v\ndef double(x):\n"
    "    with mp.get_context('fork').Pool(2) as pool:\n        return np.array(pool.map(twice, list(x)))",
    "a JAX array": "def double(x):\n    import jax\n    jax.config.update('jax_enable_x64', True)\n"
    "    return 2 * jax.numpy.asarray(x)",
    "an asynchronous cell": "import asyncio\nawait asyncio.sleep(0.01)\nasync def factor():\n    return 2\n"
    "FACTOR = await factor()\ndef double(x):\n    return FACTOR * x",
    "type hints, positions and a docstring": "from __future__ import annotations\nfrom typing import Final\n"
    "TWO: Final = 2\ndef double(x: np.ndarray[float, Missing], /) -> np.ndarray:\n    '''Double.'''\n"
    "    return (y := TWO * x)",
    "a class with a static method": "class Maths:\n    @staticmethod\n    def double(x):\n        return x + x\n"
    "double = Maths.double",
    "a partial function": "from functools import partial\ndouble = partial(np.multiply, 2)",
    "Colab's form comments": "#@title Double { display-mode: 'form' }\nfactor = 2 #@param {type:'slider'}\n"
    "def double(x):\n    return factor * x",
    "a magic that times": "%timeit -n 1 -r 1 sum(range(9))\n%load_ext autoreload\n%autoreload 2\n" + DOUBLE,
    "a cell magic": "%%time\n" + DOUBLE,
    "long lines and trailing blanks": "def double(x):   \n    return 2 * x" + " + 0 * x" * 500 + "   \n\n\n\t\n",
    "tabs and form feeds": "\x0cdef double(x):\n\ty = x\n\treturn y + x\n",
    "a matrix": "def double(x):\n    return np.asmatrix(2 * x) if x.ndim == 2 else 2 * x",
    "a generator made a list": "def each(x):\n    yield from (2 * row for row in x)\n"
    "def double(x):\n    return list(each(x))",
    "random numbers seeded anew": "np.random.seed(0)\nimport random\nrandom.seed(0)\n" + DOUBLE,
    "warnings made errors": "import warnings\nwarnings.simplefilter('error')\n" + DOUBLE,
    "a last expression": DOUBLE + "double(np.arange(3))",
    "the other answer's function": DOUBLE + "assert double(2) == 4\n" + "_scratch = [double(i) for i in range(10)]",
}


def old_format(notebook):
    """As nbformat 4.4 has it: no ids."""
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        del cell["id"]


def from_colab(notebook):
    """As Colab saves it: ids in the metadata, sources as lists of lines."""
    old_format(notebook)
    notebook["metadata"] |= {"colab": {"provenance": []}, "accelerator": "GPU", "kernelspec": {"name": "python3"}}
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] |= {"id": f"cell{number}", "colab": {"base_uri": "http://localhost/"}, "outputId": "x"}
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)


def first_of_version_4(notebook):
    """As the oldest notebooks of version 4 are: no ids, and metadata that nobody writes any more."""
    old_format(notebook)
    notebook["nbformat_minor"] = 0
    notebook["metadata"] |= {"signature": "sha256:0", "kernelspec": {"name": "python2", "display_name": "Python 2"}}
    for cell in notebook["cells"]:
        cell["metadata"] |= {"collapsed": False, "trusted": True, "scrolled": "auto"}


def with_extra_cells(notebook):
    """Notes and trials anywhere, one of them failing."""
    for place, source in ((0, "1 / 0"), (3, "while True: pass"), (len(notebook["cells"]), "print('done')")):
        extra = {"cell_type": "code", "id": f"extra{place}", "metadata": {}, "source": source, "outputs": []}
        notebook["cells"].insert(place, extra | {"execution_count": 3})


def without_checks(notebook):
    """Everything but the answers deleted, and those in another order."""
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] in ("halve", "double")][::-1]


def windows(notebook):
    """Windows line ends within the cells."""
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")


FILES = {
    "nbformat 4.4": old_format,
    "nbformat 4.0": first_of_version_4,
    "Colab": from_colab,
    "extra cells": with_extra_cells,
    "answers alone": without_checks,
    "Windows line ends": windows,
}
ENCODINGS = {
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "Windows line ends in the file": lambda text: text.replace("\n", "\r\n").encode(),
    "line ends of the old Macintosh": lambda text: text.replace("\n", "\r").encode(),
    "one line, escaped": lambda text: json.dumps(json.loads(text), ensure_ascii=True).encode(),
}


@pytest.fixture(scope="module")
def reports(make_exercise, tmp_path_factory):
    """Grade them all in one run."""
    exercise, folder = make_exercise(), tmp_path_factory.mktemp("class")
    raw = {}
    for name, source in ANSWERS.items():
        notebook = exercise.reference()
        next(cell for cell in notebook.cells if cell.id == "double").source = source
        raw[name] = nbformat.writes(notebook).encode()
    for name, edit in FILES.items():
        edit(notebook := json.loads(nbformat.writes(exercise.reference())))
        raw[name] = json.dumps(notebook).encode()
    raw |= {name: encode(nbformat.writes(exercise.reference())) for name, encode in ENCODINGS.items()}
    tasks = []
    for number, (name, data) in enumerate(raw.items()):
        (path := folder / f"{number}.ipynb").write_bytes(data)
        tasks.append(Task(name, exercise, path))
    return {report.learner: report for report in grade_class(tasks, jobs=2)}


@pytest.mark.parametrize("name", [*ANSWERS, *FILES, *ENCODINGS])
def test_a_right_answer_in_an_unusual_form_gets_every_point(reports, name):
    """All points, nothing to say, and the visible check passes too."""
    report = reports[name]
    assert (report.status, report.points, report.messages) == ("graded", 3, ()), report.rows
    assert {row.status for row in report.rows} == {"passed"}
