"""How tests speak of a machine: by the address of a state, its parts and its keys."""

import urllib.parse

USED_TWICE = "a = x**2\nc = a + 5*a"


def link(text, inputs, machine="machine", **more):
    """Return what stands in the address after "#"."""
    fields = {"e": text, "i": inputs, **more}
    return urllib.parse.urlencode({f"{machine}.{key}": value for key, value in fields.items()})


def part(page, name, *, of="machine"):
    """Return one part of a machine."""
    return page.locator(f'#{of} [data-part="{name}"]')


def digit(page, choice):
    """Return the key that gives this answer."""
    texts = part(page, "choices").locator("button").all_inner_texts()
    return str(1 + texts.index(choice))
