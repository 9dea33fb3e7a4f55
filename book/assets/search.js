// Search as you type, on Ctrl-K. Pages that are served ask Pagefind; pages opened from a disk, where a script may not
// fetch, ask Sphinx's index. Nothing of either is loaded before the box is used.
(() => {
  const root = new URL("..", document.currentScript.src).href; // right on a page for lost readers, too
  const served = location.protocol.startsWith("http");
  const SHOWN = 10;
  const ASIDE = /^(check yourself|exercise|sources)$/i; // a section on the subject goes before questions on it
  const LISTING = /(^|\/)(glossary|references|intro|changelog)\.html$/i; // they name every subject and treat none
  const REFERENCE = /(^|\/)api\/(?!autograd)/; // the engine's names are torch's, which pages treat
  const CODE = /_|[a-z][A-Z]/; // names, not words
  const COMMON = new Set("a an and are as at be by do does for from has have how i in is it my of on or so that the this to was what when why with".split(" "));
  const wordsOf = (query) => {
    const all = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
    const rare = all.filter((word) => !COMMON.has(word));
    return rare.length ? rare : all;
  };

  // Two engines: each turns a query into [{page, title, anchor, heading, text}], best first.
  const load = (name) =>
    new Promise((done, failed) => {
      const script = Object.assign(document.createElement("script"), { src: root + name, onload: done, onerror: failed });
      document.head.append(script);
    });
  let text; // pages' sections: [anchor, heading, prose, code]
  const loadText = async () => {
    await load("_static/search-text.js");
    text = bookText;
  };
  const ready = {
    pagefind: async () => {
      const engine = await import(`${root}pagefind/pagefind.js`);
      await engine.options({ baseUrl: "/" });
      await engine.init();
      return async (query) => {
        const quoted = wordsOf(query).length > 1 ? await engine.search(`"${query.replaceAll('"', "")}"`) : { results: [] };
        const exact = new Set(quoted.results.map((result) => result.id));
        const found = (await engine.search(query)).results.slice(0, 2 * SHOWN);
        const data = await Promise.all(found.map((result) => result.data()));
        const isEntry = ({ url, sub_results: parts }) => CODE.test(query) && REFERENCE.test(url) && parts.some((part) => isNamed(part.title, query));
        const isExact = (i) => exact.has(found[i].id) && !LISTING.test(data[i].url);
        const rank = (i) => (isEntry(data[i]) ? 0 : isExact(i) ? 1 : 2); // the library's name, then the very phrase
        const order = [...data.keys()].sort((a, b) => rank(a) - rank(b) || a - b);
        const pages = order.slice(0, SHOWN).map((i) => data[i]);
        return pages.map((page) => dressed(page, query)).filter(Boolean);
      };
    },
    sphinx: async () => {
      const inputs = [...document.querySelectorAll('input[name="q"]')];
      inputs.forEach((input) => input.removeAttribute("name")); // or searchtools.js would empty them
      window.SPHINX_HIGHLIGHT_ENABLED = false; // or it would keep the words, and Sphinx's highlighter mark them everywhere
      await load("_static/doctools.js");
      await Promise.all([load("_static/language_data.js"), load("_static/searchtools.js"), loadText()]);
      await load("searchindex.js");
      inputs.forEach((input) => (input.name = "q"));
      window.bookSearch = { text, wordsOf };
      const ask = (query) => {
        window.bookSearch.query = query.trim().toLowerCase();
        const found = Search._performSearch(...Search._parseQuery(query)).reverse();
        return found.map(([page, , , , score]) => ({ page, score }));
      };
      const dress = (found, query) => {
        const seen = new Set();
        const pages = found.filter(({ page }) => text[page] && !seen.has(page) && seen.add(page)).slice(0, SHOWN);
        return pages.map((each) => ({ ...each, title: text[each.page][0][1], ...bestSection(each.page, query) })).filter((one) => one.excerpt);
      };
      return async (query) => {
        const found = ask(query);
        if (found.length) return dress(found, query);
        const sum = new Map(); // no page has all the words: those that have the most of them
        for (const word of wordsOf(query)) {
          for (const page of new Set(ask(word).map((each) => each.page))) sum.set(page, (sum.get(page) ?? 0) + 1);
        }
        return dress([...sum].map(([page, score]) => ({ page, score })).sort((a, b) => b.score - a.score), query);
      };
    },
  };
  let engine;
  const start = () => (engine ??= served ? ready.pagefind().catch(() => ready.sphinx()) : ready.sphinx());
  window.searchBook = async (query) => {
    return (await start())(query);
  };

  // A page that Pagefind found, with its best section; none if no word of it is like one that was typed, since for a
  // word that it doesn't know Pagefind searches for shorter and shorter beginnings.
  const isLike = (found, word) => found.toLowerCase().startsWith(word.slice(0, Math.max(3, Math.ceil(0.6 * word.length))));
  const isNamed = (heading, query) => heading.trim().toLowerCase() === query.trim().toLowerCase();
  function dressed(page, query) {
    const words = wordsOf(query);
    const read = (part) => new DOMParser().parseFromString(part.excerpt, "text/html").body;
    const weight = (part) => part.weighted_locations.reduce((sum, place) => sum + place.balanced_score, 0);
    const sections = [...page.sub_results].sort((a, b) => isNamed(b.title, query) - isNamed(a.title, query) || weight(b) - weight(a));
    const parts = [sections[0] ?? page, page].map((part) => [read(part), part.title]);
    const marks = parts.flatMap(([body]) => [...body.querySelectorAll("mark")].map((mark) => mark.textContent));
    if (!marks.some((mark) => words.some((word) => mark.split(/[^\p{L}\p{N}_]+/u).some((piece) => isLike(piece, word))))) return null;
    const texts = parts.map(([body, heading]) => trimmed(body.textContent.replace(/\s+/g, " "), heading ?? page.meta.title));
    const within = sections[0] && sections[0].title !== page.meta.title;
    return {
      page: page.url.replace(/^\/|\.html$/g, ""),
      title: page.meta.title,
      anchor: within ? (sections[0].anchor?.id ?? "") : "",
      heading: within ? sections[0].title : "",
      excerpt: texts[0].length > 30 ? texts[0] : texts[1],
    };
  }
  // Pagefind's excerpt without the heading, or the end of it, which stands above, and with the dots that say it is one.
  function trimmed(words, heading) {
    let end = `${heading.replace(/[.?!]$/, "")}`;
    while (end && !words.startsWith(end)) end = end.includes(" ") ? end.slice(end.indexOf(" ") + 1) : "";
    const rest = words.slice(end.length).replace(/^[.?!\s]+/, "").slice(0, 360); // code has no spaces to end at
    return (/^[\p{Lu}"'`(]/u.test(rest) ? "" : "… ") + rest + (/[.?!]$/.test(rest) ? "" : " …");
  }

  // The section that a result opens: the one with the phrase, else the one with most of the words.
  const count = (where, what) => where.split(what).length - 1;
  function bestSection(page, query) {
    const phrase = query.trim().toLowerCase();
    const words = wordsOf(query);
    let best = { value: -1 };
    text[page].forEach(([anchor, heading, prose, code], i) => {
      const [head, body, source] = [heading, prose, code].map((part) => part.toLowerCase());
      let value = (head === phrase ? 40 : 0) + (head.includes(phrase) || (head.length > 12 && phrase.includes(head)) ? 40 : 0) + (body.includes(phrase) ? 20 : 0) + (source.includes(phrase) ? 5 : 0);
      for (const word of words) {
        value += (head.includes(word) ? 8 : 0) + Math.min(count(body, word), 4) + (source.includes(word) ? 1 : 0);
      }
      if (ASIDE.test(heading)) value /= 2;
      if (value > best.value) best = { value, anchor: i ? anchor : "", heading: i ? heading : "", prose, code };
    });
    if (!(best.prose || best.code)) best.prose = text[page].map((section) => section[2]).join(" ");
    return { anchor: best.anchor, heading: best.heading, excerpt: excerpt(best.prose || best.code, phrase, words, best.code) };
  }
  function excerpt(prose, phrase, words, code) {
    const find = (where) => {
      const low = where.toLowerCase();
      if (low.includes(phrase)) return low.indexOf(phrase);
      return Math.min(...words.map((word) => low.indexOf(word)).filter((at) => at >= 0)); // Infinity if there is none
    };
    const source = Number.isFinite(find(prose)) || !Number.isFinite(find(code)) ? prose : code;
    const at = Number.isFinite(find(source)) ? find(source) : 0;
    const first = at < 60 ? 0 : source.lastIndexOf(" ", at - 40) + 1;
    const last = first + 170 >= source.length ? source.length : source.lastIndexOf(" ", first + 170);
    return (first ? "… " : "") + source.slice(first, last).replace(/\s+/g, " ") + (last < source.length ? " …" : "");
  }

  // The box.
  const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  function withMarks(node, shown, query) {
    const any = [query.trim(), ...wordsOf(query)].filter(Boolean).map(escaped).join("|");
    for (const [i, part] of shown.split(new RegExp(`(${any})`, "gi")).entries()) {
      node.append(i % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
    }
    return node;
  }
  const make = (tag, className) => Object.assign(document.createElement(tag), { className });
  function setUp(form, number) {
    const input = form.querySelector("input");
    const list = form.querySelector(".bp-search-results");
    const status = form.querySelector(".bp-search-status");
    list.id = `bp-search-${number}`;
    input.setAttribute("aria-controls", list.id);
    let chosen = -1;
    const choose = (index) => {
      const items = [...list.children];
      chosen = items.length ? (index + items.length) % items.length : -1;
      items.forEach((item, i) => item.setAttribute("aria-selected", i === chosen));
      if (chosen >= 0) {
        input.setAttribute("aria-activedescendant", items[chosen].id);
        items[chosen].scrollIntoView({ block: "nearest" });
      } else input.removeAttribute("aria-activedescendant");
    };
    const show = (results, query) => {
      list.replaceChildren(
        ...results.map(({ page, anchor, title, heading, excerpt: words }, i) => {
          const item = make("li");
          Object.assign(item, { id: `${list.id}-${i}`, role: "option" });
          const link = make("a");
          link.href = `${root}${page}.html?search=${encodeURIComponent(query.trim())}${anchor ? `#${anchor}` : ""}`;
          link.tabIndex = -1;
          link.append(withMarks(make("span", "bp-found-title"), title, query));
          if (heading) link.append(withMarks(make("span", "bp-found-section"), heading, query));
          link.append(withMarks(make("span", "bp-found-text"), words, query));
          link.addEventListener("click", () => form.closest("dialog")?.close());
          item.append(link);
          return item;
        }),
      );
      input.setAttribute("aria-expanded", results.length > 0);
      choose(0);
      const nothing = "Nothing found. Try fewer words, or the name of the function.";
      status.textContent = !query.trim() ? "" : results.length ? "" : nothing;
      status.setAttribute("aria-label", results.length ? `${results.length} pages found` : status.textContent);
      form.dataset.shown = query;
    };
    const search = async () => {
      const query = input.value;
      if (query.trim() && !list.children.length) status.textContent = "Searching…";
      const results = query.trim() ? await searchBook(query) : [];
      if (query === input.value) show(results, query); // else a later letter was typed meanwhile
    };
    input.addEventListener("focus", start);
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
      }
    });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (form.dataset.shown !== input.value) await search();
      list.children[chosen]?.querySelector("a").click();
    });
    return { input, search };
  }

  // Arrival: what was searched for is marked, without a change to the page.
  function mark(query) {
    const article = document.querySelector("article.bd-article");
    if (!article || !window.Highlight) return;
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT, (node) =>
      node.parentElement.closest("script, style, svg, button, math") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
    );
    const pieces = [];
    let all = "";
    while (walker.nextNode()) {
      pieces.push([all.length, walker.currentNode]);
      all += walker.currentNode.data.replace(/\s/g, " ").toLowerCase();
    }
    const place = (at) => {
      let [low, high] = [0, pieces.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (pieces[middle][0] <= at) low = middle;
        else high = middle - 1;
      }
      return [pieces[low][1], at - pieces[low][0]];
    };
    const ranges = [];
    const findAll = (what) => {
      for (let at = all.indexOf(what); at >= 0; at = all.indexOf(what, at + what.length)) {
        const range = new Range();
        range.setStart(...place(at));
        const [node, last] = place(at + what.length - 1);
        range.setEnd(node, last + 1);
        ranges.push(range);
      }
    };
    findAll(query.trim().toLowerCase());
    if (!ranges.length) wordsOf(query).forEach(findAll);
    if (!ranges.length) return;
    CSS.highlights.set("bp-searched", new Highlight(...ranges));
    const section = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const seen = ranges.filter((range) => range.getClientRects().length);
    const first = seen.find((range) => !section || section.contains(range.startContainer)) ?? seen[0];
    const box = first?.getBoundingClientRect();
    if (box && (box.top < 60 || box.bottom > innerHeight)) first.startContainer.parentElement.scrollIntoView({ block: "center" });
    addEventListener("keydown", (event) => event.key === "Escape" && CSS.highlights.delete("bp-searched"));
  }

  const forms = [...document.querySelectorAll("form.bd-search")].map(setUp);
  const asked = new URLSearchParams(location.search);
  if (asked.get("q") && forms.length > 1) {
    forms.at(-1).input.value = asked.get("q");
    forms.at(-1).search();
  }
  if (asked.get("search")) {
    const arrive = () => mark(asked.get("search"));
    if (document.readyState === "complete") arrive();
    else addEventListener("load", arrive);
  }
})();
