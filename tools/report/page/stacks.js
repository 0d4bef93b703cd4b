// Shows a call stack. The program's own lines come first, each with its source text if the file was
// available. Then comes the whole stack, in which frames of libraries are folded.
function stackElement(model, site) {
  const frames = [...model.sites[site].frames].reverse();  // the innermost first
  const own = frames.filter((frame) => model.ownFrames.has(frame));
  const parts = [];
  if (own.length) parts.push(element('h3', {}, own.length > 1 ? 'Lines of the program, the innermost first' : 'Line of the program'), frameList(model, own));
  if (frames.length > own.length || !own.length) {
    const whole = element('div', {class: 'stack'}, ...foldedRuns(model, frames));
    parts.push(own.length ? element('details', {}, element('summary', {}, `Whole call stack, ${counted(frames.length, 'frame')}`), whole) :
      element('div', {}, element('h3', {}, 'Call stack, the innermost first'), whole));
  }
  return element('div', {class: 'frames'}, ...parts);
}

function frameList(model, frames) {
  return element('ol', {class: 'stack'}, ...frames.map((frame) => element('li', {}, frameElement(model, frame))));
}

// Folds three or more consecutive frames that are not the program's own. The folded frames are one
// line, which the reader can open.
function foldedRuns(model, frames) {
  const parts = [];
  for (let i = 0; i < frames.length;) {
    if (model.ownFrames.has(frames[i])) {
      parts.push(element('div', {class: 'own'}, element('code', {}, model.frames[frames[i++]])));
      continue;
    }
    let end = i;
    while (end < frames.length && !model.ownFrames.has(frames[end])) ++end;
    const run = frames.slice(i, end);
    const lines = run.map((frame) => element('div', {class: 'library'}, model.frames[frame]));
    if (run.length < 3) parts.push(...lines);
    else parts.push(element('details', {}, element('summary', {}, `${counted(run.length, 'frame')} of libraries`), ...lines));
    i = end;
  }
  return parts;
}

function frameElement(model, frame) {
  const source = model.sources.get(frame);
  const name = element('code', {}, model.frames[frame]);
  if (!source) return name;
  const wanted = Number(/:(\d+) /.exec(model.frames[frame])[1]);
  // Finds the indentation that all lines have in common, in order to remove it.
  const margin = Math.min(...source.lines.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length));
  const lines = source.lines.map((line, i) => element('span', {class: source.first + i === wanted ? 'here' : ''},
      element('i', {}, String(source.first + i)), line.slice(margin) || ' '));
  return element('div', {}, name, element('pre', {tabindex: 0, role: 'group', 'aria-label': `Lines around ${model.frames[frame]}`}, ...lines),
      source.is_newer ? element('p', {class: 'quiet'}, 'The file has changed since the recording: the line may be another.') : null);
}
