"""The frame of a figure: it scrolls where it is wider than the page, and its title stands below it."""

import html

__all__ = ["framed"]

CAPTION = '<figcaption style="font-size:.875em;font-weight:normal;color:inherit;margin-top:.25rem">'


def framed(drawn: str, title: str) -> str:
    """Put what was drawn into a figure with a caption.

    Examples
    --------
    >>> framed("<svg/>", "Waits & steps").partition("<figcaption")[0]
    '<figure class="bp-figure" style="margin:.5rem 0;overflow-x:auto;text-align:center"><svg/>'
    """
    frame = '<figure class="bp-figure" style="margin:.5rem 0;overflow-x:auto;text-align:center">'
    return f"{frame}{drawn}{CAPTION}{html.escape(title)}.</figcaption></figure>"
