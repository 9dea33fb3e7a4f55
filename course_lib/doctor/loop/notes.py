"""Notes on errors inside the doctor: what could not be seen of a loop, and why; the loop goes on."""

from collections.abc import Callable
from typing import Any

__all__ = ["Notes"]

WORDS = {
    "check_gradient": "the gradients could not be checked",
    "look_at_gradients": "the gradients could not be measured",
    "read_loss": "the loss could not be read",
    **dict.fromkeys(("begin", "turn"), "modules could not be looked into"),
    "begin_step": "operations could not be recorded",
}


class Notes(dict[str, str]):
    """Notes by what they are about."""

    def attempt(self, look: Callable[..., Any], *args: Any) -> None:
        """Look at something: where that fails, the report says what was not seen, and it is not tried again."""
        name = look.__name__.strip("_") if self else ""
        try:
            if name not in self:
                look(*args)
        except Exception as error:  # whatever it is, it is not the loop's
            self.add(look.__name__.strip("_"), error)

    def add(self, name: str, error: Exception) -> None:
        """Note what failed."""
        self[name] = f"{WORDS.get(name, name)}: {type(error).__name__}: {error}"
