// What moves, and what does not for those who asked for less of it.

const reduced = matchMedia("(prefers-reduced-motion: reduce)");

export const isCalm = () => reduced.matches;

// A tall figure on a small screen: the box that has just been reached is scrolled out from under dock and page header.
export function keepInSight(element, { walk, dock }) {
  const box = element.getBoundingClientRect();
  const header = document.querySelector(".bd-header-article, .bd-header")?.getBoundingClientRect().bottom ?? 0;
  const ceiling = Math.max(0, header) + 8;
  const floor = walk.classList.contains("beside") ? innerHeight : dock.getBoundingClientRect().top;
  const by = box.top < ceiling ? box.top - ceiling : Math.max(0, box.bottom + 8 - floor);
  if (by) scrollBy({ top: by, behavior: isCalm() ? "auto" : "smooth" });
}
