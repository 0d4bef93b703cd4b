// Compares the ranks of a job. The comparison always has all processes, whichever process the page
// shows.
const MOST_RANKS = 16;

function rankSentence(compared) {
  const reserved = compared.figures.peak_reserved_bytes;
  const straggler = compared.straggler;
  const incomplete = compared.incomplete_ranks;
  const why = `because the ${incomplete.length === 1 ? 'recording' : 'recordings'} of ${incomplete.length === 1 ? 'rank' : 'ranks'} `
    + `${incomplete.join(', ')} ${incomplete.length === 1 ? 'lacks events: its' : 'lack events: their'} figures are \u201cat least\u201d. `;
  const attempts = compared.attempts > 1 ? `Ranks ran up to ${counted(compared.attempts, 'time')}, one attempt after the other: `
    + 'of each rank, the attempt with the highest peak is compared. ' : '';
  const start = `${counted(compared.ranks, 'rank')}. ${attempts}`;
  if (!straggler) return element('p', {}, `${start}They cannot be compared, ${why}`);
  const lead = incomplete.length ? `${start}Only ${compared.ranks - incomplete.length} are compared, ${why}` : start;
  const above = [figure('rank_comparison.straggler.over_median_bytes', straggler.over_median_bytes, bytesText(straggler.over_median_bytes)),
    ` (${shareText(straggler.over_median_bytes, reserved.median)}) above the median.`];
  if (compared.balanced) return element('p', {}, `${lead}They are alike: the highest, rank ${straggler.rank}, is `, ...above);
  return element('p', {}, lead, element('b', {}, `The straggler is rank ${straggler.rank}`), straggler.host ? ` on ${straggler.host}` : '',
      ': it reserved ', figure('rank_comparison.figures.peak_reserved_bytes.most', reserved.most, bytesText(reserved.most)), ', ', ...above);
}

function rankFigures(compared) {
  const rows = Object.entries(compared.figures).filter(([, row]) => row.most > 0);
  const text = (name, value) => name.endsWith('_bytes') ? bytesText(value) : countText(value);
  const cell = (key) => ([name, row]) => figure(`rank_comparison.figures.${name}.${key}`, row[key], text(name, row[key]));
  return table([
    {title: '', kind: '', cell: ([name]) => name.replace(/_bytes$/, '').replaceAll('_', ' ')},
    {title: 'Median', kind: 'n', cell: cell('median')},
    {title: 'Highest', kind: 'n', cell: cell('most')},
    {title: '', kind: '', cell: ([, row]) => `rank ${row.most_rank}`},
    {title: 'Lowest', kind: 'n', cell: cell('least')},
    {title: '', kind: '', cell: ([, row]) => `rank ${row.least_rank}`},
  ], rows, {name: 'Figures of the ranks', most: 40});
}

function rankSites(compared) {
  const straggler = compared.straggler;
  if (!straggler || compared.balanced || !straggler.sites.length) return null;
  const cell = (key) => (row, i) => figure(`rank_comparison.straggler.sites.${i}.${key}`, row[key], bytesText(row[key]));
  return element('div', {}, element('h3', {}, `What rank ${straggler.rank} held at its peak above the median`), table([
    {title: 'Site', kind: 'wide', cell: (row) => row.site},
    {title: 'Operation', kind: '', cell: (row) => row.operation},
    {title: 'More', kind: 'n', cell: (row) => `+${bytesText(row.bytes_at_peak - row.median_bytes_at_peak)}`},
    {title: 'At its peak', kind: 'n', cell: cell('bytes_at_peak')},
    {title: 'Median', kind: 'n', cell: cell('median_bytes_at_peak')},
  ], straggler.sites, {name: 'Memory of the straggler', most: 8}));
}

function rankRows(view) {
  const reserved = (model) => model.facts.peak.reserved_bytes || 0;
  const all = view.models.map((model, i) => ({model, i})).filter((one) => one.model.facts.process.rank !== null);
  const rows = [...all].sort((a, b) => reserved(b.model) - reserved(a.model) || a.i - b.i).slice(0, MOST_RANKS);
  const highest = Math.max(1, ...rows.map((one) => reserved(one.model)));
  return element('div', {}, element('h3', {}, (all.length > rows.length ? `The ${rows.length} of ${all.length} with the highest peak` : 'All of them') + '; a row leads to that rank'), table([
    {title: '', kind: '', cell: (one) => view.names[one.i]},
    {title: 'Host', kind: '', cell: (one) => one.model.facts.process.host || ''},
    {title: 'Peak reserved', kind: 'n', cell: (one) => withShare(bytesText(one.model.facts.peak.reserved_bytes), reserved(one.model), highest)},
    {title: 'Peak allocated', kind: 'n', cell: (one) => bytesText(one.model.facts.peak.allocated_bytes)},
    {title: 'Allocations', kind: 'n', cell: (one) => countText(one.model.facts.counts.allocations)},
    {title: 'Out of memory', kind: 'n', cell: (one) => countText(one.model.facts.counts.out_of_memory)},
  ], rows, {name: 'Ranks', most: MOST_RANKS, click: (one) => view.choose(one.i)}));
}

function fillRanks(view) {
  const compared = view.set.rank_comparison;
  byId('ranks-panel').hidden = !compared;
  if (!compared) return;
  const parts = [rankSentence(compared), rankFigures(compared), rankSites(compared), rankRows(view)];
  byId('ranks').replaceChildren(...parts.filter((part) => part));
}
