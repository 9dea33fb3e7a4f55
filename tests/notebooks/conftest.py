"""A small course."""

import pytest

PAGE = """---
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---
# Title

```{{code-cell}} ipython3
{code}
```
"""


@pytest.fixture
def project(tmp_path):
    """A course of two pages."""
    (tmp_path / "_config.yml").write_text("repository: {url: https://host.example/owner/name, branch: main}\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2"\n')
    (tmp_path / "requirements.lock").write_text("numpy\n")
    (tmp_path / "course_lib").mkdir()
    (tmp_path / "course_lib" / "engine.py").write_text("x = 1\n")
    (tmp_path / "chapters" / "part").mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / "chapters" / "part" / f"{name}.md").write_text(PAGE.format(code=f"print('{name}')"))
    return tmp_path
