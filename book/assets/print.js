// Paper is white: a dark page is printed light, or its figures would be pale on it, and is dark again afterwards. Nor can
// paper be unfolded: answers are printed open.
(() => {
  const page = document.documentElement.dataset;
  let theme; // what the page has while it is printed as another
  let folded = [];
  addEventListener("beforeprint", () => {
    theme ??= page.theme;
    page.theme = "light";
    folded = [...folded, ...document.querySelectorAll("details.bp-answer:not([open])")];
    folded.forEach(answer => (answer.open = true));
  });
  addEventListener("afterprint", () => {
    page.theme = theme ?? page.theme;
    theme = undefined;
    folded.forEach(answer => (answer.open = false));
    folded = [];
  });
})();
