// Shows why memory ran out, and which change would have served the request according to a replay.
// If the job ran only because memory was moved to the host, it shows this instead.

// Returns the bar of one replay. A line in it marks the memory that the process could have
// (`room`). `most` is the number of bytes at the right end of the bar.
function replayBar(path, replay, room, most) {
  const share = (bytes) => `${Math.min(100, 100 * bytes / most)}%`;
  const verdict = replay.would_serve ? 'serves it' : 'does not serve it';
  return element('div', {class: 'replay', role: 'img',
    'aria-label': `${replay.model} needs ${bytesText(replay.peak_reserved_bytes)} of ${bytesText(room)}, and ${verdict}`},
  element('span', {class: 'model'}, replay.model),
  element('span', {class: 'track'},
      element('span', {class: replay.would_serve ? 'need' : 'need over', style: `width:${share(replay.peak_reserved_bytes)}`},
          element('span', {style: `width:${replay.peak_reserved_bytes ? 100 * Math.min(1, replay.peak_allocated_bytes / replay.peak_reserved_bytes) : 0}%`})),
      element('i', {class: 'room', style: `left:${share(room)}`})),
  element('span', {class: 'needs'}, figure(`${path}.peak_reserved_bytes`, replay.peak_reserved_bytes, bytesText(replay.peak_reserved_bytes)),
      replay.would_serve ? ', served' : ', not served'));
}

// Returns the last out-of-memory event and its number. Returns null if it was not replayed.
function replayedFailure(facts) {
  const number = (facts.out_of_memory || []).length - 1;
  const failure = number < 0 ? null : facts.out_of_memory[number];
  return failure && failure.demand && failure.replays.length ? {failure, number} : null;
}

// Returns the number of bytes at the right end of the bars. It is the same for all bars, so that
// they can be compared.
function replayScale(facts, failure) {
  const peaks = [failure, ...(facts.advice || [])].flatMap((one) => one.replays.map((replay) => replay.peak_reserved_bytes));
  return 1.04 * Math.max(failure.demand.room_bytes, ...peaks);
}

// Returns the bars of one piece of advice; null if there are none.
function adviceBars(facts, i) {
  const replayed = replayedFailure(facts);
  const replays = facts.advice[i].replays;
  if (!replayed || !replays.length) return null;
  const most = replayScale(facts, replayed.failure);
  const together = facts.advice[i].together_with;
  return element('div', {class: 'replays'},
      ...replays.map((one, k) => replayBar(`advice.${i}.replays.${k}`, one, replayed.failure.demand.room_bytes, most)),
      together ? element('p', {class: 'quiet'}, `Together with “${together}” the request is served.`) : null);
}

function fillWhy(facts) {
  const number = (facts.out_of_memory || []).length - 1;
  const failure = number < 0 ? null : facts.out_of_memory[number];
  const first = (facts.advice || []).find((one) => failure && one.id === failure.cause);
  byId('why-panel').hidden = !first;
  if (!first) return;
  const row = (label, ...content) => element('div', {}, element('dt', {}, label), element('dd', {}, ...content));
  const replayed = replayedFailure(facts);
  const i = facts.advice.indexOf(first);
  const bars = replayed ? [
    element('p', {class: 'quiet'}, 'The memory that the requests need up to the one that failed, against the ',
        figure(`out_of_memory.${number}.demand.room_bytes`, failure.demand.room_bytes, bytesText(failure.demand.room_bytes)),
        ' that the process could have of the card (the line); the dark part is in live blocks.'),
    element('h3', {}, 'As it was'),
    ...failure.replays.map((one, k) => replayBar(`out_of_memory.${number}.replays.${k}`, one, failure.demand.room_bytes, replayScale(facts, failure))),
    first.replays.length ? element('h3', {}, 'As advised') : null,
    adviceBars(facts, i)].filter((one) => one) : [];
  byId('why').replaceChildren(
      element('dl', {},
          row('Because', element('b', {}, first.title), `: ${first.is_estimate ? 'about ' : ''}`, figure(`advice.${i}.bytes`, first.bytes, bytesText(first.bytes))),
          first.place ? row('At', element('code', {}, first.place)) : null,
          first.holder ? row('Held by', element('code', {}, first.holder), first.kept_at ? `, put there at ${first.kept_at}` : '') : null,
          row('Do', first.action),
          first.fits === null ? null : row('Then', `the request for `, figure(`out_of_memory.${number}.requested_bytes`, failure.requested_bytes, bytesText(failure.requested_bytes)),
              first.fits ? ' fits' : ' still does not fit',
              first.replays.length ? first.fits ? '. Later requests may need more.' : '.' : ', judging by the bytes alone; no replay has confirmed it.')),
      ...bars);
}

function fillCarried(model) {
  const words = model.detail.words || {};
  byId('carried-panel').hidden = !words.need;
  if (!words.need) return;
  byId('carried-title').textContent = `${words.need}.`;
  byId('carried').replaceChildren(element('p', {}, words.carried), words.moved ? element('p', {}, 'Moved: ', words.moved) : '',
      words.costs ? element('p', {}, words.costs) : '', words.instead ? element('p', {}, 'Instead: ', words.instead) : '',
      words.or ? element('p', {}, 'Or: ', words.or) : '', words.step ? element('p', {}, words.step) : '');
}
