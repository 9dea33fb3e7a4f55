// A figure or formula that is wider than the screen scrolls by the keyboard, too: the theme sees to code and tables alone.
addEventListener("DOMContentLoaded", () => {
  const fit = new ResizeObserver(seen => {
    for (const { target } of seen)
      target.scrollWidth > target.clientWidth ? (target.tabIndex = 0) : target.removeAttribute("tabindex");
  });
  for (const wide of document.querySelectorAll("figure.bp-figure, div.math")) fit.observe(wide);
});
