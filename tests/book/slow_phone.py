"""A slow phone on a slow network: what a first visit of a page loads, when it shows something, and whether that moves.

``python -m tests.book.slow_phone BUILD [BUILD...]`` compares builds of the book: medians of visits in turn.
"""

import contextlib
import gzip
import http.server
import statistics
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PAGES = "intro", "chapters/mechanics/what_backward_does", "chapters/mechanics/fit_a_line", "chapters/mechanics/gradients_by_hand"
NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}  # bytes a second
TEXT = (".html", ".css", ".js", ".svg", ".json", ".txt", ".xml")

# Figures count as usable when they answer, and drawings when they are there; both no sooner than something is painted.
WATCH = """
window.seen = {shift: 0, figure: 0, paint: 0, shifts: []};
new PerformanceObserver(list => list.getEntries().forEach(e => {
  if (e.hadRecentInput) return;
  seen.shift += e.value;
  seen.shifts.push([Math.round(e.startTime), e.value, e.sources.map(s => (s.node?.nodeName ?? "") + "." + (s.node?.className ?? s.node?.data ?? "")).join(" ").slice(0, 160)]);
})).observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => list.getEntries().forEach(e => {
  if (e.name === "first-contentful-paint") seen.paint = e.startTime;
})).observe({type: "paint", buffered: true});
new MutationObserver(() => {
  const first = document.querySelector("bp-stepper, .bp-machine") ?? document.querySelector(".bp-figure svg, .bp-map svg");
  if (first && !seen.figure && (first.matches("svg, .ready") || first.hasAttribute("ready"))) seen.figure = performance.now();
}).observe(document, {subtree: true, childList: true, attributeFilter: ["ready", "class"]});
"""


@cache
def _body(path: Path) -> tuple[bytes, bool]:
    packed = path.suffix in TEXT
    return (gzip.compress(path.read_bytes(), 6) if packed else path.read_bytes()), packed


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder as a host of static pages does: compressed, over connections that stay open."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = Path(self.translate_path(self.path))
            if not path.is_file():
                self.send_error(404)
                return
            body, packed = _body(path)
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(path))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "max-age=600")
            if packed:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(body)

        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=folder)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def visit(browser, address: str) -> dict[str, float]:
    """Visit a page for the first time; return times in seconds, the sum of shifts, and what came in KB."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True, device_scale_factor=2)
    page = context.new_page()
    page.add_init_script(WATCH)
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.emulateNetworkConditions", NETWORK)
    wire.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    came = []
    wire.on("Network.loadingFinished", lambda e: came.append(e["encodedDataLength"]))
    page.goto(address, wait_until="load", timeout=120_000)
    page.wait_for_timeout(500)
    page.evaluate("document.fonts.ready.then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))")
    seen = page.evaluate("seen")
    context.close()
    paint = seen["paint"] / 1000
    return {"paint": paint, "figure": max(paint, seen["figure"] / 1000), "shift": seen["shift"], "weight": sum(came) / 1000, "shifts": seen["shifts"]}


def compare(builds: list[Path], *, rounds: int = 5) -> None:
    """Print a line for each page and build."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player, contextlib.ExitStack() as stack:
        browser = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        addresses = [stack.enter_context(serve(build)) for build in builds]
        for name in PAGES:
            seen = [[] for _ in builds]
            for _ in range(rounds):
                for address, visits in zip(addresses, seen, strict=True):
                    visits.append(visit(browser, f"{address}{name}.html"))
            for build, visits in zip(builds, seen, strict=True):
                middle = {key: statistics.median(v[key] for v in visits) for key in ("paint", "figure", "shift", "weight")}
                print(f"{name.split('/')[-1]:22}{build!s:30} paint {middle['paint']:5.2f} s  figure {middle['figure']:5.2f} s  shift {middle['shift']:.3f}  weight {middle['weight']:5.0f} KB", flush=True)
                if rounds == 1: print(visits[0]["shifts"])


if __name__ == "__main__":
    compare([Path(name) for name in sys.argv[1:] if not name.isdigit()], rounds=next((int(n) for n in sys.argv[1:] if n.isdigit()), 5))
