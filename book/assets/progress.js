// Remember, in this browser alone, which pages were read to their end and what was answered on them, and mark the
// pages on the map of the course.
const bookMemory = (() => {
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  const nameOf = address => address.split(/[?#]/)[0].replace(root, "");
  const keys = { read: "bp-read", answers: "bp-answers" };

  function get(what, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(keys[what])) ?? otherwise;
    } catch {
      return otherwise; // the browser keeps nothing, or what it kept is not ours
    }
  }

  function set(what, value) {
    try {
      localStorage.setItem(keys[what], JSON.stringify(value));
    } catch {
      // a browser that keeps nothing
    }
  }

  const forget = () => Object.values(keys).forEach(key => localStorage.removeItem(key));
  const isEmpty = () => Object.keys(keys).every(what => get(what, null) === null);
  return { nameOf, page: nameOf(location.href), get, set, forget, isEmpty };
})();

document.addEventListener("DOMContentLoaded", () => {
  const { nameOf, page } = bookMemory;
  const readPages = () => new Set(bookMemory.get("read", []));

  function mark() {
    const read = readPages();
    for (const link of document.querySelectorAll(".bp-map a")) {
      const done = read.has(nameOf(new URL(link.getAttribute("href"), location.href).href));
      link.classList.toggle("bp-read", done);
      done ? link.setAttribute("aria-description", "read") : link.removeAttribute("aria-description");
    }
    if (forget) forget.hidden = bookMemory.isEmpty();
  }

  let forget = null;
  const map = document.querySelector(".bp-map");
  if (map) {
    forget = Object.assign(document.createElement("button"), { type: "button", className: "bp-forget" });
    forget.textContent = "Forget what I have read and answered";
    forget.addEventListener("click", () => {
      bookMemory.forget();
      mark();
    });
    map.append(forget);
    mark();
    window.addEventListener("pageshow", mark); // back from a page that was read meanwhile
  }

  const end = document.querySelector(".bd-article section:last-of-type > :last-child");
  if (/^(chapters|exercises)\//.test(page) && end) {
    const seen = new IntersectionObserver(entries => {
      if (entries.some(entry => entry.isIntersecting)) {
        seen.disconnect();
        bookMemory.set("read", [...readPages().add(page)]);
      }
    });
    seen.observe(end);
  }
});
