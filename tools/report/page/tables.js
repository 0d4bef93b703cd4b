// The words and tables of the page. Every number of the facts has an attribute with its path in the
// JSON.
function tile(label, fact, value, text, more, warn) {
  return element('div', {class: warn ? 'tile warn' : 'tile'},
      element('div', {class: 'label'}, label),
      element('div', {class: 'value'}, figure(fact, value, text)),
      element('div', {class: 'more'}, more || '\u00a0'));
}

// Says by which evidence iterations were found, like `vramstow analyze`, but in a few words.
function wayFound(found) {
  const ways = {marks: 'by marks', optimizer_steps: 'by optimizer steps', backward_passes: 'by backward passes',
      forward_passes: 'by forward passes', loop: 'by lines that go back'};
  const way = ways[found.by] || 'by what recurs';
  return found.is_sure ? way : `or layers, ${way}`;
}

function fillTiles(facts) {
  const peak = facts.peak;
  const tiles = byId('tiles');
  tiles.textContent = '';
  tiles.append(tile('Peak allocated', 'peak.allocated_bytes', peak.allocated_bytes, bytesText(peak.allocated_bytes),
      peak.time_ns === null ? 'sum of each one\u2019s peak' : `at ${timeText(peak.time_ns)}`));
  if (peak.reserved_bytes !== null) {
    const ratio = facts.fragmentation && facts.fragmentation.peak_reserved_over_allocated;
    tiles.append(tile('Peak reserved', 'peak.reserved_bytes', peak.reserved_bytes, bytesText(peak.reserved_bytes),
        ratio ? `${ratio.toFixed(2)} × allocated` : ''));
  }
  tiles.append(tile('Peak requested', 'peak.requested_bytes', peak.requested_bytes, bytesText(peak.requested_bytes), 'before rounding'));
  if (facts.fragmentation && facts.fragmentation.in_pool) {
    tiles.append(tile('Free but too small', 'fragmentation.unusable_bytes_at_peak', facts.fragmentation.unusable_bytes_at_peak,
        bytesText(facts.fragmentation.unusable_bytes_at_peak), 'at the peak'));
  }
  tiles.append(tile('Allocations', 'counts.allocations', facts.counts.allocations, countText(facts.counts.allocations),
      `${countText(facts.counts.frees)} frees`));
  if (facts.iterations && facts.iterations.length) {
    tiles.append(tile('Iterations', 'iterations_found.count', facts.iterations_found.count, countText(facts.iterations_found.count),
        wayFound(facts.iterations_found)));
  }
  tiles.append(tile('Out of memory', 'counts.out_of_memory', facts.counts.out_of_memory, countText(facts.counts.out_of_memory),
      facts.counts.out_of_memory === 1 ? 'time' : 'times', facts.counts.out_of_memory > 0));
}

function fillNotes(facts) {
  const missing = [...facts.input.missing];
  const report = facts.input.report;
  if (!report.closed && facts.input.kind === 'stow') missing.push('The trace was not closed: the process was killed, or it was still running.');
  if (report.dropped_events) missing.push(`Not recorded: ${counted(report.dropped_events, 'event')}.`);
  if (report.write_error) missing.push(`Recording ended before the program did, because ${report.write_error === 28 ? 'the disk was full' : `a write failed (error ${report.write_error})`}.`);
  if (report.overwritten_events) missing.push(`Overwritten: ${counted(report.overwritten_events, 'event')} before the first one here; the trace kept only the newest ones.`);
  if (report.missing_events) missing.push(`Missing: ${counted(report.missing_events, 'event')} of the sequence.`);
  if (report.damaged_bytes) missing.push(`Damaged: ${bytesText(report.damaged_bytes)} of the file could not be read.`);
  if (facts.counts.frees_of_unseen) missing.push(`${counted(facts.counts.frees_of_unseen, 'free')} of blocks whose allocation is not in the trace.`);
  byId('notes-panel').hidden = missing.length === 0;
  const notes = byId('notes');
  notes.querySelector('summary').textContent = `What is missing: ${counted(missing.length, 'thing')}`;
  notes.querySelector('ul').replaceChildren(...missing.map((text) => element('li', {}, text)));
}

function fillAdvice(facts) {
  const advice = facts.advice || [];
  byId('advice-panel').hidden = advice.length === 0;
  byId('advice').replaceChildren(...advice.map((one, i) => element('li', {'data-advice': one.id},
      element('div', {class: 'head'}, element('b', {}, one.title),
          one.bytes ? element('span', {class: 'gain'}, one.is_estimate ? 'about ' : one.replayed_bytes === null ? 'up to ' : '', figure(`advice.${i}.bytes`, one.bytes, bytesText(one.bytes))) : null),
      element('p', {}, one.evidence),
      element('p', {}, element('b', {}, 'Try: '), one.action),
      element('p', {class: 'quiet'}, 'Costs: ', one.cost),
      adviceBars(facts, i))));
}

function panel(title, ...children) {
  return element('section', {class: 'panel'}, element('h2', {}, title), ...children);
}

function withShare(content, part, whole) {
  return [content, element('span', {class: 'share', 'aria-hidden': 'true'},
      element('span', {style: `width:${whole ? Math.max(0, Math.min(100, 100 * part / whole)) : 0}%`}))];
}

function categoryPanel(facts, view) {
  const list = facts.by_category || [];
  if (!list.length || (list.length === 1 && list[0].category === 'unknown')) return null;
  return panel('What it is for, at the peak', table([
    {title: 'Use', kind: '', cell: (row) => row.category.replaceAll('_', ' ')},
    {title: 'At the peak', kind: 'n', cell: (row, i) => withShare(figure(`by_category.${i}.bytes_at_peak`, row.bytes_at_peak, bytesText(row.bytes_at_peak)), row.bytes_at_peak, facts.peak.allocated_bytes)},
    {title: '', kind: 'n', cell: (row) => shareText(row.bytes_at_peak, facts.peak.allocated_bytes)},
    {title: 'How that is known', kind: 'wide', cell: (row) => row.evidence},
  ], list, {name: 'Uses', click: (row, focus) => view.showCategory(row.category, focus)}));
}

function sitePanel(facts, view) {
  const stacks = (facts.by_site || []).filter((row) => row.bytes_at_peak > 0);
  const libraries = new Set(facts.by_library.map((row) => row.library));
  if (!stacks.length || stacks.every((row) => libraries.has(row.site))) return null;
  return panel('Call sites, at the peak', table([
    {title: 'Site', kind: 'wide', cell: (row) => row.site},
    {title: 'Operation', kind: '', cell: (row) => row.operation},
    {title: 'Blocks', kind: 'n', cell: (row) => countText(row.blocks_at_peak)},
    {title: 'At the peak', kind: 'n', cell: (row) => withShare(figure(`by_site.${facts.by_site.indexOf(row)}.bytes_at_peak`, row.bytes_at_peak, bytesText(row.bytes_at_peak)), row.bytes_at_peak, facts.peak.allocated_bytes)},
  ], stacks, {name: 'Call sites', click: (row, focus) => view.showSites(row.site, (site) => site.site === row.site, focus)}));
}

function modulePanel(facts, view) {
  const modules = (facts.by_module || []).filter((row) => row.bytes_at_peak > 0);
  if (!modules.length) return null;
  return panel('Modules of the model, at the peak', table([
    {title: 'Module', kind: 'wide', cell: (row) => row.module},
    {title: 'Operation', kind: '', cell: (row) => row.operation},
    {title: 'Blocks', kind: 'n', cell: (row) => countText(row.blocks_at_peak)},
    {title: 'At the peak', kind: 'n', cell: (row) => withShare(figure(`by_module.${facts.by_module.indexOf(row)}.bytes_at_peak`, row.bytes_at_peak, bytesText(row.bytes_at_peak)), row.bytes_at_peak, facts.peak.allocated_bytes)},
  ], modules, {name: 'Modules', click: (row, focus) => view.showModule(row.module, focus)}));
}

function libraryPanel(facts) {
  const list = facts.by_library.filter((row) => row.library !== 'unknown' || facts.input.kind === 'stow');
  if (!list.length) return null;
  return panel('By library', table([
    {title: 'Library', kind: 'wide', cell: (row) => row.library},
    {title: 'At the peak', kind: 'n', cell: (row) => withShare(figure(`by_library.${facts.by_library.indexOf(row)}.bytes_at_peak`, row.bytes_at_peak, bytesText(row.bytes_at_peak)), row.bytes_at_peak, facts.peak.allocated_bytes)},
    {title: 'Highest', kind: 'n', cell: (row) => bytesText(row.highest_bytes)},
    {title: 'At the end', kind: 'n', cell: (row) => bytesText(row.bytes_at_end)},
    {title: 'Allocations', kind: 'n', cell: (row) => countText(row.allocations)},
  ], list, {name: 'Libraries'}));
}

// Returns the peak of each GPU. Returns null if there is only one, because its peak is that of the
// process.
function devicePanel(facts) {
  const list = (facts.devices || []).filter((row) => row.device >= 0);
  if (list.length < 2) return null;
  return panel('By GPU', table([
    {title: 'GPU', kind: 'wide', cell: (row) => `${row.device}: ${row.name || 'unknown'}`},
    {title: 'Has', kind: 'n', cell: (row) => row.total_bytes === null ? 'unknown' : bytesText(row.total_bytes)},
    {title: 'Allocated at most', kind: 'n', cell: (row) => figure(`devices.${facts.devices.indexOf(row)}.peak_bytes`, row.peak_bytes, bytesText(row.peak_bytes))},
    {title: 'Reserved at most', kind: 'n', cell: (row) => bytesText(row.peak_reserved_bytes)},
    {title: 'Out of memory', kind: 'n', cell: (row) => countText(row.out_of_memory)},
  ], list, {name: 'GPUs'}));
}

function beforePeakPanel(facts, view) {
  const before = facts.before_peak;
  if (!before || !before.changes.length) return null;
  return panel('Just before the peak',
      element('p', {class: 'quiet'}, `From ${timeText(before.from_ns)} (${bytesText(before.from_bytes)}) to ${timeText(facts.peak.time_ns)} (${bytesText(facts.peak.allocated_bytes)}).`),
      table([
        {title: 'Site', kind: 'wide', cell: (row) => row.site},
        {title: 'Operation', kind: '', cell: (row) => row.operation},
        {title: 'Change', kind: 'n', cell: (row, i) => figure(`before_peak.changes.${i}.bytes`, row.bytes, (row.bytes > 0 ? '+' : '') + bytesText(row.bytes))},
      ], before.changes, {name: 'Changes before the peak', click: (row, focus) => view.showSites(row.site, (site) => site.site === row.site, focus)}));
}

function holePanel(facts, view) {
  const fragmentation = facts.fragmentation || {};
  const holes = fragmentation.holes || [];
  if (!holes.length) return null;
  const neighbour = (side) => side ? `${bytesText(side.bytes)} ${side.site}` : "segment's edge";
  return panel('Free ranges at the peak, and who fences them in',
      element('p', {class: 'quiet'}, `${counted(fragmentation.hole_count, 'range')}, ${bytesText(fragmentation.at_peak.free_bytes)} in all; the largest request was ${bytesText(fragmentation.largest_request_bytes)}. A row leads to the peak.`),
      (fragmentation.streams || []).length > 1 ? element('p', {class: 'quiet'}, 'By the stream that alone may have it: ',
          fragmentation.streams.map((one) => `${one.stream || 'unknown'} ${bytesText(one.free_bytes)} of ${bytesText(one.reserved_bytes)}`).join('; ')) : null,
      table([
        {title: 'Free', kind: 'n', cell: (row, i) => figure(`fragmentation.holes.${i}.bytes`, row.bytes, bytesText(row.bytes))},
        {title: 'Address', kind: '', cell: (row) => element('span', {class: 'mono'}, row.address)},
        {title: 'In a segment of', kind: 'n', cell: (row) => bytesText(row.segment_bytes)},
        {title: 'Before it', kind: 'wide', cell: (row) => row.before || row.after ? neighbour(row.before) : 'the whole segment is free'},
        {title: 'After it', kind: 'wide', cell: (row) => row.before || row.after ? neighbour(row.after) : ''},
      ], holes, {name: 'Free ranges', click: () => view.toPeak(true)}));
}

function failurePanel(facts, view) {
  const failures = facts.out_of_memory || [];
  if (!failures.length) return null;
  const who = (row) => [element('b', {}, row.site || row.library || row.call),
    row.holders && row.holders.length ? element('p', {}, 'Held by ', holdersText(row)) : null,
    failureStory(row) ? element('p', {class: 'quiet'}, failureStory(row)) : null].filter((one) => one);
  return panel('Out of memory', element('p', {class: 'quiet'}, 'A row leads to its moment.'), table([
    {title: 'When', kind: 'n', cell: (row) => timeText(row.time_ns), by: (row) => row.time_ns},
    {title: 'Request and reason', kind: 'wide', cell: who},
    {title: 'Asked', kind: 'n', cell: (row, i) => figure(`out_of_memory.${i}.requested_bytes`, row.requested_bytes, bytesText(row.requested_bytes))},
    {title: 'The process had', kind: 'n', cell: (row) => bytesText(row.allocated_bytes)},
    {title: 'Free on the device', kind: 'n', cell: (row) => bytesText(row.free_bytes)},
    {title: 'Free in one piece', kind: 'n', cell: (row, i) => figure(`out_of_memory.${i}.largest_free_range_bytes`, row.largest_free_range_bytes, bytesText(row.largest_free_range_bytes))},
  ], failures, {name: 'Out of memory', click: (row) => view.goTo(row.event)}));
}

function holdersText(row) {
  const holders = (row.holders || []).slice(0, 4);
  return holders.map((one) => `${one.holder}: ${bytesText(one.bytes)}`).join('; ');
}

function failureStory(row) {
  if (!row.pool) return '';
  const hole = row.pool.largest_hole;
  const side = (one) => one ? `${bytesText(one.bytes)} of ${one.site}` : "the segment's edge";
  const text = `The pool held ${bytesText(row.pool.reserved_bytes)}, ${bytesText(row.pool.free_bytes)} of it free in ${counted(row.pool.free_ranges, 'piece')}`;
  if (row.pool.movable_bytes !== null) return `${text}, ${bytesText(row.pool.movable_bytes)} in whole chunks, which it moves together.`;
  return hole.bytes ? `${text}; the largest lies between ${side(hole.before)} and ${side(hole.after)}.` : `${text}.`;
}

function lifetimePanel(facts, view) {
  const lifetimes = facts.lifetimes;
  if (!lifetimes) return null;
  const rows = [['Freed in the iteration that made it', 'within_an_iteration'], ['Freed in a later one', 'across_iterations'],
    ['Live at the end', 'persistent'], ['Made before the first iteration', 'before_the_first']];
  const grows = (facts.iterations || []).length > 2 && facts.iterations_found.growth_bytes > 0;
  const none = grows ? 'Memory grows, but no call site piles up by itself' : 'Nothing piles up';
  return panel('Lifetimes', table([
    {title: '', kind: 'wide', cell: (row) => row[0]},
    {title: 'Bytes', kind: 'n', cell: (row) => figure(`lifetimes.${row[1]}.bytes`, lifetimes[row[1]].bytes, bytesText(lifetimes[row[1]].bytes))},
    {title: 'Blocks', kind: 'n', cell: (row) => countText(lifetimes[row[1]].blocks)},
  ], rows, {name: 'Lifetimes'}), element('h3', {}, lifetimes.growing.length ? 'Piles up' : none),
  lifetimes.growing.length ? table([
    {title: 'Site', kind: 'wide', cell: (row) => row.site},
    {title: 'Each iteration', kind: 'n', cell: (row) => bytesText(row.bytes_per_iteration)},
    {title: 'In all', kind: 'n', cell: (row) => bytesText(row.bytes)},
  ], lifetimes.growing, {name: 'Growing sites', click: (row, focus) => view.showSites(row.site, (site) => site.site === row.site, focus)}) : null);
}

// Describes how much of the pinned memory is rounding: the known part, and what PyTorch's rounding
// up to powers of two may take.
function pinnedRounding(facts) {
  const known = facts.host.pinned_rounding_bytes;
  const advice = facts.advice.find((one) => one.id === 'pinned_rounding');
  return (known ? `, ${bytesText(known)} of it by rounding` : '') +
      (advice ? `; up to ${bytesText(advice.bytes)} are PyTorch's rounding up to powers of two` : '');
}

function hostPanel(facts) {
  const host = facts.host;
  if (!host) return null;
  const lines = [];
  if (host.looks) {
    lines.push(element('p', {}, figure('host.highest_resident_bytes', host.highest_resident_bytes, bytesText(host.highest_resident_bytes)),
        ` of the process resident at the most (at ${timeText(host.highest_resident_time_ns)}); `,
        figure('host.least_free_bytes', host.least_free_bytes, bytesText(host.least_free_bytes)),
        ` free at the least of ${bytesText(host.limit_bytes)} of ${host.limit_of === 'control_group' ? 'its control group' : 'the machine'} (at ${timeText(host.least_free_time_ns)}).`));
  }
  if (host.pinned_bytes) {
    lines.push(element('p', {}, figure('host.pinned_bytes', host.pinned_bytes, bytesText(host.pinned_bytes)),
        ` pinned at the most${pinnedRounding(facts)}.`));
  }
  return panel('Host', ...lines);
}

function cachePanel(facts) {
  const cache = facts.cache;
  if (!cache) return null;
  return panel('Cache', element('p', {}, figure('cache.segments_taken', cache.segments_taken, counted(cache.segments_taken, 'segment')),
      ` taken from the device (${bytesText(cache.taken_bytes)}), `, figure('cache.segments_given_back', cache.segments_given_back, countText(cache.segments_given_back)),
      ` given back (${bytesText(cache.given_back_bytes)}). `,
      figure('churn.pairs', facts.churn.pairs, counted(facts.churn.pairs, 'allocation')), ' of a size that had just been freed.'),
  cache.misses === null ? null : element('p', {}, figure('cache.misses', cache.misses, counted(cache.misses, 'allocation')),
      ` that cached memory could not serve at once, ${countText(cache.stitches)} for which chunks were moved; ${counted(cache.fence_waits, 'wait')} for work that was not finished (${timeText(cache.fence_wait_ns)}).`),
  cache.flushes.length ? table([
    {title: 'When', kind: 'when', cell: (row) => timeText(row.time_ns)},
    {title: 'By', kind: '', cell: (row) => row.by.replace('_', ' ')},
    {title: 'Segments', kind: 'n', cell: (row) => countText(row.segments)},
    {title: 'Given back', kind: 'n', cell: (row) => bytesText(row.bytes)},
    {title: 'Taken again', kind: 'n', cell: (row) => bytesText(row.taken_again_bytes)},
    {title: 'Took', kind: 'n', cell: (row) => timeText(row.duration_ns)},
  ], cache.flushes, {name: 'Times the cache was emptied'}) : null);
}

function poolPanel(facts) {
  const snapshot = facts.snapshot;
  if (!snapshot) return null;
  return panel('Segments at the end', element('p', {}, figure('snapshot.segments', snapshot.segments, counted(snapshot.segments, 'segment')), ', ',
      figure('snapshot.reserved_bytes', snapshot.reserved_bytes, bytesText(snapshot.reserved_bytes)), ' reserved, ',
      figure('snapshot.allocated_bytes', snapshot.allocated_bytes, bytesText(snapshot.allocated_bytes)), ' allocated in ',
      countText(snapshot.allocated_blocks), ' of ', figure('snapshot.blocks', snapshot.blocks, counted(snapshot.blocks, 'block')), '.'),
  table([
    {title: 'Device', kind: '', cell: (row) => String(row.device)},
    {title: 'Pool', kind: '', cell: (row) => row.pool},
    {title: 'Stream', kind: '', cell: (row) => element('span', {class: 'mono'}, row.stream)},
    {title: 'Segments', kind: 'n', cell: (row) => countText(row.segments)},
    {title: 'Reserved', kind: 'n', cell: (row) => bytesText(row.reserved_bytes)},
    {title: 'Allocated', kind: 'n', cell: (row) => bytesText(row.allocated_bytes)},
    {title: 'Largest free', kind: 'n', cell: (row) => bytesText(row.largest_free_bytes)},
  ], snapshot.pools, {name: 'Pools'}));
}

function fillTables(facts, view) {
  const two = (...panels) => {
    const there = panels.filter((one) => one);
    return there.length ? element('div', {class: there.length > 1 ? 'two' : ''}, ...there) : null;
  };
  const iterations = iterationPanel(facts, view);
  const clock = clockPanel(view);
  const rows = [failurePanel(facts, view), two(categoryPanel(facts, view), beforePeakPanel(facts, view)), sitePanel(facts, view), modulePanel(facts, view), devicePanel(facts), libraryPanel(facts),
    holePanel(facts, view), clock, iterations, two(lifetimePanel(facts, view), cachePanel(facts)), hostPanel(facts), poolPanel(facts)];
  byId('tables').replaceChildren(...rows.filter((row) => row));
  const pictures = [iterations, clock].filter((one) => one && one.redraw);
  view.redrawIterations = () => pictures.forEach((one) => one.redraw());
}
