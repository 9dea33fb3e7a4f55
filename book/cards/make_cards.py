"""Draw a share card for each page of the built book that has a figure: its title, and the first figure.

``make cards`` runs this after ``make book``, and ``book/assets/cards/`` keeps what it makes, since a build needs no
Chromium. Run it when a title or a figure has changed; of a title, a test says so. Other pages share one card.
"""

import html
import io
import shutil
import sys
from base64 import b64encode
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book" / "paper"))

from make_pdf import read_contents  # noqa: E402 - the folder is put on the path first
from print_pages import open_chromium  # noqa: E402 - the folder is put on the path first

ASSETS = ROOT / "book" / "assets"
SIZE = {"width": 1200, "height": 630}
SHORT = 30  # characters of a title
COLORS = 96  # are as many as one sees in it, and a third of the bytes
# What is drawn on the page itself, large enough to be seen on a card.
FIND = """() => {
  const drawn = document.querySelectorAll(".bd-article svg");
  const large = [...drawn].find(svg => {
    const box = svg.getBoundingClientRect();
    return box.width >= 260 && box.height >= 140 && !svg.closest("nav, .dropdown, details:not([open])");
  });
  large?.setAttribute("data-card", "");
  return large !== undefined;
}"""
TITLE = """() => {
  const heading = document.querySelector(".bd-article h1").cloneNode(true);
  heading.querySelector(".headerlink")?.remove();
  return heading.textContent.trim();
}"""
CARD = """<!doctype html><meta charset="utf-8"><style>
@font-face {{ font-family: CardSerif; src: url({fonts}/source-serif-display.woff2); }}
@font-face {{ font-family: CardSans; src: url({fonts}/source-sans.woff2); }}
body {{ margin: 0; width: 1200px; height: 630px; background: #fffdf9; color: #1c2330; display: grid;
  grid-template: 1fr 14px / 46% 54%; box-sizing: border-box; }}
main {{ padding: 64px 0 48px 76px; display: flex; flex-direction: column; }}
h1 {{ font: 500 {size}px/1.12 CardSerif; margin: 0; text-wrap: balance; }}
p {{ font: 30px/1.3 CardSans; color: #586273; margin: 0 0 18px; }}
footer {{ margin-top: auto; display: flex; align-items: center; gap: 18px; font: 28px CardSans; color: #586273; }}
footer img {{ height: 44px; }}
figure {{ margin: 0; padding: 40px 56px 40px 44px; display: grid; place-items: center; overflow: hidden; }}
figure img {{ max-width: 100%; max-height: 100%; object-fit: contain; }}
hr {{ border: 0; margin: 0; grid-column: 1 / -1;
  background: linear-gradient(90deg, #1d5c96 50%, #b3372a 50%); }}
</style><main><p>{part}</p><h1>{title}</h1><footer><img src="{logo}">The Backward Pass</footer></main>
<figure><img src="data:image/png;base64,{picture}"></figure><hr>"""


def draw_card(title: str, part: str, picture: bytes) -> str:
    """Return a card as a page: the picture beside the title."""
    return CARD.format(
        fonts=(ASSETS / "fonts").as_uri(),
        logo=(ASSETS / "logo.svg").as_uri(),
        size=70 if len(title) < SHORT else 58,
        part=html.escape(part),
        title=html.escape(title),
        picture=b64encode(picture).decode(),
    )


def write_card(target: Path, shot: bytes, title: str) -> None:
    """Keep a card in few colours, with the title that it shows."""
    about = PngInfo()
    about.add_text("Title", title)
    target.parent.mkdir(parents=True, exist_ok=True)
    image = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    image.save(target, optimize=True, pnginfo=about)


def main() -> None:
    """Draw them all."""
    built, cards = ROOT / "_build" / "html", ASSETS / "cards"
    shutil.rmtree(cards, ignore_errors=True)
    with open_chromium("PyTorch") as chromium:
        page = chromium.new_page()
        page.emulate_media(color_scheme="light")
        sheet = chromium.new_page()
        sheet.set_viewport_size(SIZE)
        for part, pages in [*read_contents(ROOT).items()][1:]:  # the first is the book's own page
            for name, _ in pages:
                page.goto((built / f"{name}.html").as_uri())
                if not page.evaluate(FIND):
                    continue
                picture, title = page.locator("[data-card]").screenshot(animations="disabled"), page.evaluate(TITLE)
                (draft := built / "card.html").write_text(draw_card(title, part, picture), "utf-8")
                sheet.goto(draft.as_uri())
                sheet.evaluate("document.fonts.ready")
                write_card(cards / f"{name}.png", sheet.screenshot(), title)
                draft.unlink()


if __name__ == "__main__":
    main()
