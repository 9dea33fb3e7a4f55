"""Join printed pages into one document: bookmarks, page labels, and links that lead within it."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from print_pages import PrintedPage
from pypdf import PdfReader, PdfWriter
from pypdf.constants import PageLabelStyle
from pypdf.generic import ArrayObject, DictionaryObject, Fit, FloatObject, IndirectObject, NameObject, TextStringObject

Place = tuple[int, float]  # the number of a sheet, and how far above its lower edge


@dataclass
class Document:
    """What has been joined so far.

    Attributes
    ----------
    places : dict
        Where each address is, with and without the name of a place on its page.
    own : list of str
        The address of the page that each sheet belongs to.
    """

    writer: PdfWriter = field(default_factory=PdfWriter)
    places: dict[str, Place] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)

    def append(self, printed: PrintedPage) -> None:
        """Add the sheets of a page, and remember the places on them."""
        reader, first = PdfReader(io.BytesIO(printed.pdf)), len(self.writer.pages)
        for sheet in reader.pages:
            self.writer.add_page(sheet)
            self.own.append(printed.address)
        self.places[printed.address] = (first, float(reader.pages[0].mediabox.top))
        for name, place in reader.named_destinations.items():
            number = reader.get_destination_page_number(place)
            if number is not None and place.top is not None:
                where = f"{printed.address}#{unquote(name.removeprefix('/'))}"
                self.places[where] = (first + number, float(place.top))

    def bookmark(self, title: str, address: str, parent: IndirectObject | None = None) -> IndirectObject:
        """Add a bookmark, below ``parent`` if there is one, and return it."""
        number, top = self._find(address) or (0, 0.0)
        return self.writer.add_outline_item(
            title=title, page_number=number, parent=parent, fit=Fit.xyz(top=top), is_open=parent is None
        )

    def _find(self, address: str) -> Place | None:
        """Return the place of an address, or where its page begins."""
        return self.places.get(unquote(address)) or self.places.get(urldefrag(address)[0])

    def link(self, html: Path, site: str) -> None:
        """Lead links to their places in here, or to the ``site`` where they name other files of ``html``."""
        for number, sheet in enumerate(self.writer.pages):
            for annotation in sheet.annotations or []:
                link = annotation.get_object()
                if (address := self._address_of(link, number)).startswith("file:"):
                    for key in ("/A", "/Dest"):
                        link.pop(NameObject(key), None)
                    link.update(self._lead(address, urljoin(site, address.removeprefix(f"{html.as_uri()}/"))))

    def _address_of(self, link: DictionaryObject, number: int) -> str:
        if "/Dest" in link:
            return f"{self.own[number]}#{str(link['/Dest']).removeprefix('/')}"
        return str(link.get("/A", {}).get("/URI", ""))

    def _lead(self, address: str, elsewhere: str) -> DictionaryObject:
        if place := self._find(address):
            sheet, top = self.writer.pages[place[0]].indirect_reference, FloatObject(place[1])
            where = ArrayObject([sheet, NameObject("/XYZ"), FloatObject(0), top, FloatObject(0)])
            return DictionaryObject({NameObject("/Dest"): where})
        uri = {NameObject("/S"): NameObject("/URI"), NameObject("/URI"): TextStringObject(elsewhere)}
        return DictionaryObject({NameObject("/A"): DictionaryObject(uri)})

    def write(self, path: Path, *, facts: dict[str, str], roman: int = 0) -> None:
        """Write the document; its first sheets, ``roman`` of them, have numbers of their own."""
        if roman:
            self.writer.set_page_label(0, roman - 1, style=PageLabelStyle.LOWERCASE_ROMAN)
            self.writer.set_page_label(roman, len(self.writer.pages) - 1, style=PageLabelStyle.DECIMAL)
        self.writer.add_metadata(facts)
        self.writer.compress_identical_objects()
        self.writer.write(path)
