"""A slow phone on a slow network: when a first visit of a page shows something, what it loads, and how far that moves.

``python -m tests.book.slow_phone BUILD [BUILD ...]`` compares builds of the book, visited in turn: medians of five.
"""

import contextlib
import gzip
import http.server
import statistics
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from playwright.sync_api import TimeoutError, sync_playwright

PAGES = ["intro", *(f"chapters/mechanics/{name}" for name in ("what_backward_does", "fit_a_line", "gradients_by_hand"))]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}  # bytes/s
SLOWER = 4  # times, the processor
COMPRESSED = {".css", ".html", ".js", ".json", ".svg", ".txt", ".xml"}

# A figure is usable when it answers, a drawing when it is there, and neither before something is painted.
WATCH = """
window.seen = {paint: 0, figure: 0, shift: 0};
new PerformanceObserver(list => list.getEntries().forEach(entry => {
  if (!entry.hadRecentInput) seen.shift += entry.value;
})).observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => list.getEntriesByName("first-contentful-paint").forEach(entry => {
  seen.paint = entry.startTime;
})).observe({type: "paint", buffered: true});
new MutationObserver(() => {
  const answers = document.querySelector("bp-stepper, .bp-machine");
  const ready = answers ? answers.matches(".ready, [ready]") : document.querySelector(".bp-figure svg, .bp-map svg");
  if (ready && !seen.figure) seen.figure = performance.now();
}).observe(document, {subtree: true, childList: true, attributeFilter: ["ready", "class"]});
"""


class Host(http.server.SimpleHTTPRequestHandler):
    """Serve files as a host of static pages does: text compressed, over connections that stay open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a file."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        packed = path.suffix in COMPRESSED
        body = gzip.compress(path.read_bytes()) if packed else path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # the page was left
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server with room for all the connections that a browser opens at once: those beyond it would be dropped."""

    request_queue_size = 128


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder, and give its address."""
    with Server(("127.0.0.1", 0), partial(Host, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def visit(browser, address: str, *, tries: int = 2) -> dict[str, float]:
    """Visit a page for the first time: seconds to paint and to the first figure, the sum of shifts, kilobytes.

    Once in a thousand visits Chromium's slow network stands still; such a visit says nothing, and is made again.
    """
    context = browser.new_context(**PHONE)
    page = context.new_page()
    page.add_init_script(WATCH)
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.emulateNetworkConditions", NETWORK)
    wire.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    came: list[float] = []
    wire.on("Network.loadingFinished", lambda event: came.append(event["encodedDataLength"]))
    try:
        page.goto(address, timeout=60_000)
    except TimeoutError:
        context.close()
        if tries == 1:
            raise
        return visit(browser, address, tries=tries - 1)
    page.wait_for_function("seen.paint && seen.figure")
    page.evaluate("document.fonts.ready.then(() => new Promise(done => requestIdleCallback(done)))")
    seen = page.evaluate("seen")
    context.close()
    paint, figure = seen["paint"] / 1000, seen["figure"] / 1000
    return {"paint": paint, "figure": max(paint, figure), "shift": seen["shift"], "weight": sum(came) / 1000}


def compare(browser, builds: list[Path], *, rounds: int = 5) -> None:
    """Print a line for each page and build."""
    with contextlib.ExitStack() as stack:
        addresses = [stack.enter_context(serve(build)) for build in builds]
        for name in PAGES:
            visits = [[visit(browser, f"{address}{name}.html") for address in addresses] for _ in range(rounds)]
            for build, seen in zip(builds, zip(*visits, strict=True), strict=True):
                paint, figure, shift, weight = (statistics.median(one[key] for one in seen) for key in seen[0])
                figures = f"paint {paint:.2f} s, figure {figure:.2f} s, shift {shift:.3f}, {weight:.0f} KB"
                print(f"{name.rpartition('/')[2]:20} {build}: {figures}", flush=True)


if __name__ == "__main__":
    with sync_playwright() as player:
        started = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        compare(started, [Path(name) for name in sys.argv[1:]])
