"""``course notebooks``: run the pages whose text changed, and write their notebooks."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["notebooks"]


def notebooks(
    texts: Annotated[
        list[Path] | None, typer.Argument(help="Text files to build; all of the course's by default.")
    ] = None,
    *,
    force: Annotated[bool, typer.Option("--all", help="Run even the pages that are up to date.")] = False,
    publish: Annotated[
        bool,
        typer.Option(
            "--publish-solutions", help="Fold the solutions of all exercises into their notebooks, for all to see."
        ),
    ] = False,
) -> None:
    """Run the pages whose text changed, and write their notebooks.

    A worked solution is in the notebook of an exercise only if the solutions have been published as they are: of a key
    of your own, nothing gets out.
    """
    from course_grader.cli.terminal_output import make_console
    from course_grader.notebooks import build_notebooks, notebook_sources
    from course_grader.notebooks.exercise_help import publish_solutions
    from course_lib.errors import InputError

    root, console = Path.cwd(), make_console()
    known = notebook_sources(root)
    if publish:
        publish_solutions(root)
    only = [text.resolve() for text in texts or []]
    for text in only:
        if text not in known:
            raise InputError(
                f"expected the text of a page (chapters/<part>/<page>.md) or of an exercise "
                f"(exercises/<name>/key/source.md), got {text.name}; check the path"
            )
    written = 0
    for built in build_notebooks(root, only=only or None, force=force):
        if built.written:
            written += 1
            console.print(f"wrote {built.notebook.relative_to(root)}")
    count = len(only or known)
    console.print(f"{count} notebook{'s' if count != 1 else ''}, {written} written")
