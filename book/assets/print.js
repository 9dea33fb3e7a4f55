// Paper is white: a dark page is printed light, or its figures would be pale on it, and is dark again afterwards.
(() => {
  const page = document.documentElement.dataset;
  let theme; // what the page has while it is printed as another
  addEventListener("beforeprint", () => {
    theme ??= page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.theme = theme ?? page.theme;
    theme = undefined;
  });
})();
