// Figures and formulas that are wider than the screen can be scrolled with the keyboard; the theme does it for code and
// tables alone.
addEventListener("DOMContentLoaded", () => {
  const fit = new ResizeObserver(seen => {
    for (const { target } of seen)
      target.scrollWidth > target.clientWidth ? (target.tabIndex = 0) : target.removeAttribute("tabindex");
  });
  for (const wide of document.querySelectorAll("figure.bp-figure, div.math")) fit.observe(wide);
});
