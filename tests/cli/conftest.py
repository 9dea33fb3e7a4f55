"""What tests of the command share."""

import pytest

from course_lib.cli import main


@pytest.fixture
def course(capsys):
    """Return a function that runs ``course`` and gives its exit status, standard output and standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return caught.value.code or 0, said.out, said.err

    return run
