// Paper is white and cannot be opened. A dark page is printed light, or its figures would be pale on it; folds are
// open, but for the code of figures. Afterwards all is as it was.
(() => {
  const page = document.documentElement.dataset;
  let theme; // what the page has while it is printed as another
  let opened = [];
  addEventListener("beforeprint", () => {
    theme ??= page.theme;
    page.theme = "light";
    opened.push(...document.querySelectorAll(".bd-article details:not([open], .bp-help, .tag_hide-input > .above-input)"));
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => {
    page.theme = theme ?? page.theme;
    theme = undefined;
    for (const fold of opened) fold.open = false;
    opened = [];
  });
})();
