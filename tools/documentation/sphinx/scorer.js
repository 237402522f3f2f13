// What a search of the site puts first: what helps whoever operates it, then the manual, then records and code.
var Scorer = {
  score: ([page, , , , score]) => {
    if (/^(start-here|install|switching|troubleshooting|alerts|chart|remote)$/.test(page)) return score + 1;
    if (/^(decisions|source|plugins)\/|^(CHANGELOG|ARCHITECTURE|CONTRIBUTING|releasing|licences)$/.test(page)) return score / 10;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  // A lease is no release: a part of a word in a title is worth less than the word itself in a text.
  partialTitle: 3,
  term: 5,
  partialTerm: 1,
};
