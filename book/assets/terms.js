// The definition of a term, or of a name of the library, where the pointer rests on it or the keyboard has come to it. It
// can be pointed at itself, and Escape hides it; a finger follows the link instead.
(() => {
  const links = 'article.bd-article :is(a[href*="#term-"], a.bp-api)';
  const root = new URL("..", document.currentScript.src);
  const tip = Object.assign(document.createElement("div"), { id: "bp-tip", role: "tooltip", hidden: true });
  document.body.append(tip);
  let terms, owner, timer;
  const load = () =>
    (terms ??= new Promise((done) => {
      const src = new URL("_static/terms-text.js", root).href;
      document.head.append(Object.assign(document.createElement("script"), { src, onload: () => done(bookTerms) }));
    }));
  const hide = () => {
    clearTimeout(timer);
    owner?.removeAttribute("aria-describedby");
    owner = undefined;
    tip.hidden = true;
  };
  const later = (what, after) => {
    clearTimeout(timer);
    timer = setTimeout(what, after);
  };
  async function show(link) {
    if (link === owner) return;
    hide();
    owner = link;
    const words = (await load())[decodeURIComponent(link.hash.slice(1))];
    if (!words || owner !== link) return;
    tip.innerHTML = words;
    tip.hidden = false;
    link.setAttribute("aria-describedby", tip.id);
    const line = [...link.getClientRects()].at(-1);
    const { width, height } = tip.getBoundingClientRect();
    const below = line.bottom + 8;
    tip.style.top = `${below + height < innerHeight ? below : link.getBoundingClientRect().top - height - 8}px`;
    tip.style.left = `${Math.max(12, Math.min(line.left, document.documentElement.clientWidth - width - 12))}px`;
  }
  const term = (event) => event.target.closest?.(links);
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    if (term(event)) later(() => show(term(event)), 150);
    else if (tip.contains(event.target)) clearTimeout(timer);
    else if (owner && owner !== document.activeElement) later(hide, 250);
    else if (!owner) clearTimeout(timer);
  });
  document.addEventListener("focusin", (event) => (term(event)?.matches(":focus-visible") ? show(term(event)) : hide()));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", () => owner && hide(), { passive: true });
})();
