"""Make the fonts of ``book/assets/fonts`` from those that their makers publish: the letters and weights that are used.

``python book/subset_fonts.py FOLDER`` needs fonttools and brotli, and in FOLDER the files named below: Source's, from
the packages ``@fontsource-variable/source-serif-4``, ``source-sans-3`` and ``source-code-pro`` on npm, and STIX Two
Math 2.13, from https://github.com/stipub/stixfonts.
"""

import io
import sys
from pathlib import Path

from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.transformPen import TransformPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

TARGET = Path(__file__).parent / "assets" / "fonts"
ASCII = "".join(map(chr, range(0x20, 0x7F))) + "\xa0–—‘’“”…"
LATIN = ASCII + "".join(map(chr, range(0xA1, 0x100))) + "ı\u2009\u200b‚„•′″‹›←↑→↓−∕"
GREEK = "αβγδεζηθικλμνξοπρςστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"
ITALIC = [*(c for c in range(0x1D434, 0x1D468) if c != 0x1D455), 0x210E, *range(0x1D6FC, 0x1D71C)]  # as browsers set x
MATHS = (
    ASCII
    + GREEK
    + "".join(map(chr, ITALIC))
    + "ϵϑϕϱ∂∇ℓ𝔼ℝ¯ˆˉ˙˜¨\u0302\u0303\u0304\u0307\u0332±×÷·∗∘∙⋅⊙⊗⊕−∓≈≠≤≥≡≪≫∼∝∈∉⊂⊆"
    "∪∩∀∃∞∑∏∫√←→↔⇒⇔↦…⋯⋮⋱′″‖|∣⟨⟩⌊⌋⌈⌉⊤⊥†\u2061\u2062\u2063\u200b"
)
SERIF = "source-serif-4-latin-opsz-normal.woff2"
WEIGHTS = (400, 700)
FONTS = {  # what is made: of which file, with which letters, and at which of its axes
    "source-serif-text.woff2": (SERIF, LATIN, {"wght": WEIGHTS, "opsz": 18}),
    "source-serif-display.woff2": (SERIF, ASCII, {"wght": 500, "opsz": 44}),
    "source-serif-italic.woff2": ("source-serif-4-latin-wght-italic.woff2", LATIN, {"wght": 400}),
    "source-sans.woff2": ("source-sans-3-latin-wght-normal.woff2", LATIN, {"wght": WEIGHTS}),
    "source-sans-greek.woff2": ("source-sans-3-greek-wght-normal.woff2", GREEK, {"wght": WEIGHTS}),
    "source-code.woff2": ("source-code-pro-latin-wght-normal.woff2", LATIN, {"wght": WEIGHTS}),
    "stix-two-math.woff2": ("STIXTwoMath-Regular.otf", MATHS, {}),
}
FEATURES = ["kern", "liga", "lnum", "onum", "pnum", "tnum"]  # without ssty, which browsers do not ask for: 25 KB


def mend_maths(font: TTFont) -> None:
    """Make all root signs as wide as the smallest: Chromium leaves room for the widest behind each. And primes larger.

    Chromium takes no larger letters for indices, ``ssty``, which a prime should be.
    """
    letters, drawn = font["CFF "].cff.topDictIndex[0].CharStrings, font.getGlyphSet()
    variants = font["MATH"].table.MathVariants
    root = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index("uni221A")]
    signs = [one.VariantGlyph for one in root.MathGlyphVariantRecord[1:]]  # the first is the smallest itself
    signs += [one.glyph for one in root.GlyphAssembly.PartRecords]
    width = font["hmtx"]["uni221A"][0]
    for sign in signs:
        advance, bearing = font["hmtx"][sign]
        private = letters[sign].private
        pen = T2CharStringPen(width - private.nominalWidthX, drawn)
        drawn[sign].draw(TransformPen(pen, (width / advance, 0, 0, 1, 0, 0)))
        letters[sign] = pen.getCharString(private, letters[sign].globalSubrs)
        font["hmtx"][sign] = width, round(bearing * width / advance)
    for table in font["cmap"].tables:
        table.cmap[0x2032] = "minute.ssty"


def make(source: Path, letters: str, axes: dict[str, object], target: Path) -> None:
    """Write a font with some of another's letters; large brackets and roots come along by the table of maths."""
    font = TTFont(source)
    if axes:
        whole = io.BytesIO()
        instantiateVariableFont(font, axes).save(whole)
        font = TTFont(whole)  # read again, or tables remember letters that have nothing to vary any more
    if "MATH" in font:
        mend_maths(font)
    subsetter = Subsetter(Options(layout_features=FEATURES, hinting=False, desubroutinize=True))
    subsetter.populate(text=letters)
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(target)


if __name__ == "__main__":
    for name, (source, letters, axes) in FONTS.items():
        make(Path(sys.argv[1]) / source, letters, axes, TARGET / name)
        print(f"{(TARGET / name).stat().st_size:7} {name}")
