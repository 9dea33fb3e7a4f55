// Remember, in this browser alone, which pages were read to their end, and mark them on the map of the course.
document.addEventListener("DOMContentLoaded", () => {
  const key = "bp-read";
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  const nameOf = address => address.split(/[?#]/)[0].replace(root, "");

  function readPages() {
    try {
      return new Set(JSON.parse(localStorage.getItem(key) ?? "[]"));
    } catch {
      return new Set(); // the browser keeps nothing, or what it kept is not ours
    }
  }

  function mark() {
    const read = readPages();
    for (const link of document.querySelectorAll(".bp-map a")) {
      const done = read.has(nameOf(new URL(link.getAttribute("href"), location.href).href));
      link.classList.toggle("bp-read", done);
      done ? link.setAttribute("aria-description", "read") : link.removeAttribute("aria-description");
    }
    if (forget) forget.hidden = read.size === 0;
  }

  let forget = null;
  const map = document.querySelector(".bp-map");
  if (map) {
    forget = Object.assign(document.createElement("button"), { type: "button", className: "bp-forget" });
    forget.textContent = "Forget what I have read";
    forget.addEventListener("click", () => {
      localStorage.removeItem(key);
      mark();
    });
    map.append(forget);
    mark();
    window.addEventListener("pageshow", mark); // back from a page that was read meanwhile
  }

  const end = document.querySelector(".bd-article section:last-of-type > :last-child");
  if (/^(chapters|exercises)\//.test(nameOf(location.href)) && end) {
    const seen = new IntersectionObserver(entries => {
      if (entries.some(entry => entry.isIntersecting)) {
        seen.disconnect();
        try {
          localStorage.setItem(key, JSON.stringify([...readPages().add(nameOf(location.href))]));
        } catch {
          // a browser that keeps nothing
        }
      }
    });
    seen.observe(end);
  }
});
