"""Frame a figure in HTML: it scrolls where it is wider than the page, and its title is the caption."""

import html

__all__ = ["frame_figure"]

CAPTION = '<figcaption style="font-size:.875em;font-weight:normal;color:inherit;margin-top:.25rem">'


def frame_figure(drawn: str, title: str) -> str:
    """Put what was drawn into a figure with a caption.

    Examples
    --------
    >>> frame_figure("<svg/>", "Waits & steps").partition("<figcaption")[0]
    '<figure class="bp-figure" style="margin:.5rem 0;overflow-x:auto;text-align:center"><svg/>'
    """
    frame = '<figure class="bp-figure" style="margin:.5rem 0;overflow-x:auto;text-align:center">'
    return f"{frame}{drawn}{CAPTION}{html.escape(title)}.</figcaption></figure>"
