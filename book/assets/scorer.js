// How the search ranks where the book is opened from a disk: a page whose title holds what was typed comes first, one
// with such a heading next, then those that say it most often; the glossary, the references and the contents come after
// every page on the subject. The API reference comes first for its names, but not for the engine's, which are torch's.
// Sphinx's index knows neither phrases nor counts: these come from the words of the sections.
var Scorer = {
  score: ([docname, title, , , score]) => {
    const { query, wordsOf, text } = window.bookSearch;
    const words = wordsOf(query);
    const sections = (text[docname] || []).map((section) => section.map((part) => part.toLowerCase()));
    const page = sections.length ? sections[0][1] : title.toLowerCase();
    const times = (part, what) => part.split(what).length - 1;
    const held = words.filter((word) => page.includes(word)).length / words.length;
    const phrase = sections.reduce(
      (sum, [, heading, prose, code]) =>
        sum +
        (heading.includes(query) ? 12 : 0) +
        (heading.length > 12 && query.includes(heading) ? 30 : 0) + // a message of an error, of which it is the start
        3 * times(prose, query) +
        times(code, query),
      0,
    );
    const listing = ["glossary", "references", "intro", "changelog"].includes(docname) ? -120 : 0;
    const exercise = docname.startsWith("exercises/") ? -120 : 0;
    const named = sections.some(([, heading]) => heading === query || heading.endsWith(`.${query}`));
    const reference = docname.startsWith("api/autograd") ? -130 : docname.startsWith("api/") && !named ? -70 : 0;
    return score + (page.includes(query) ? 100 : 60 * held) + Math.min(phrase, 90) + listing + exercise + reference;
  },
  // Sphinx's own, which a scorer has to bring along.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
