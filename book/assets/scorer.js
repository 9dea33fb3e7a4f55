// How the search ranks: a page whose title holds what was typed comes first, one with such a heading next, and the
// glossary, the references and the contents after every page on the subject.
var Scorer = {
  score: ([docname, title, , , score]) => {
    const query = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
    const words = query.split(/\s+/);
    const page = Search._index.titles[Search._index.docnames.indexOf(docname)].toLowerCase();
    const held = words.filter((word) => page.includes(word)).length / words.length;
    const heading = title.toLowerCase().includes(query) ? 30 : 0;
    const listing = ["glossary", "references", "intro"].includes(docname) ? -120 : 0;
    const exercise = docname.startsWith("exercises/") ? -50 : 0;
    return score + (page.includes(query) ? 100 : 60 * held) + heading + listing + exercise;
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
