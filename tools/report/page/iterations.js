// Draws all iterations on one time axis, and the peak of each. A few iterations are drawn as
// curves. If there are many, two bands show the middle half of the levels and the range of all
// levels, and only the last iteration is drawn as a curve.
const MOST_CURVES = 8;
const CURVE_COLUMNS = 240;

function iterationPanel(facts, view) {
  const list = facts.iterations || [];
  if (!list.length) {
    const why = facts.iterations_found && facts.iterations_found.why_not;
    return why ? panel('Iterations', element('p', {class: 'quiet'}, `None found: ${why}`)) : null;
  }
  const curves = element('canvas', {id: 'iterations', role: 'img', class: 'curves',
    'aria-label': `Allocated memory within an iteration: ${list.length === 1 ? 'the only one' : 'all of them laid over one another'}`});
  const peaks = list.length < 3 ? null : element('canvas', {id: 'iteration-peaks', role: 'img', class: 'peaks', 'aria-label': 'The peak of each iteration in turn; the table has the figures'});
  if (peaks) {
    const at = (event) => Math.max(0, Math.min(list.length - 1, Math.floor((event.offsetX - 60) / (peaks.clientWidth - 62) * list.length)));
    peaks.addEventListener('pointermove', (event) => {
      const i = at(event);
      tip.show(`Iteration ${countText(i + 1)}: peak ${bytesText(list[i].peak_bytes)}, ${bytesText(list[i].end_bytes)} at its end, took ${timeText(list[i].end_ns - list[i].begin_ns)}`, event.clientX, event.clientY);
    });
    peaks.addEventListener('pointerleave', () => tip.hide());
    peaks.addEventListener('click', (event) => view.goTo(list[at(event)].begin_event));
  }
  const found = facts.iterations_found;
  const growth = found.growth_bytes;
  const number = new Map(list.map((row, i) => [row, i]));
  const made = panel('Iterations',
      element('p', {class: 'quiet'}, list.length > 1 ? `The memory that is live between them changes by ${growth > 0 ? '+' : ''}${bytesText(growth)} each. ` : '', curveWords(list.length),
          found.count > list.length ? ` These are the first ${countText(list.length)} of ${countText(found.count)}.` : ''),
      curves, peaks ? element('h3', {}, 'Peak of each, in turn') : null, peaks, table([
        {title: 'No.', kind: 'n', cell: (row) => countText(number.get(row) + 1)},
        {title: 'From', kind: 'n', cell: (row) => timeText(row.begin_ns), by: (row) => row.begin_ns},
        {title: 'Took', kind: 'n', cell: (row) => timeText(row.end_ns - row.begin_ns), by: (row) => row.end_ns - row.begin_ns},
        {title: 'Peak', kind: 'n', cell: (row, i) => figure(`iterations.${i}.peak_bytes`, row.peak_bytes, bytesText(row.peak_bytes)), by: (row) => row.peak_bytes},
        {title: 'At its end', kind: 'n', cell: (row) => bytesText(row.end_bytes), by: (row) => row.end_bytes},
        {title: 'Allocations', kind: 'n', cell: (row) => countText(row.allocations), by: (row) => row.allocations},
      ], list, {name: 'Iterations', most: 8, click: (row) => view.goTo(row.begin_event)}));
  const sight = new InSight(curves, () => {
    drawIterations(curves, view.model);
    if (peaks) drawPeaks(peaks, list);
  });
  made.redraw = () => sight.ask();
  return made;
}

function curveWords(count) {
  if (count === 1) return 'One iteration, from its first event to its last.';
  if (count <= MOST_CURVES) return 'Each is stretched to one width; the last one is drawn strong.';
  return 'Each is stretched to one width. The strong band: half of them; the faint one: all of them; the line: the last one.';
}

// Returns the curve of an iteration: the highest level in each column of the picture.
function iterationCurve(model, iteration) {
  const curve = new Float64Array(CURVE_COLUMNS);
  const span = Math.max(1, iteration.end_event - iteration.begin_event);
  let step = model.stepOf(iteration.begin_event);
  let level = model.allocated[Math.max(0, step - 1)];
  for (let column = 0; column < CURVE_COLUMNS; ++column) {
    const until = iteration.begin_event + (column + 1) / CURVE_COLUMNS * span;
    let most = -1;
    for (; step < model.steps && model.event[step] <= until; ++step) {
      most = Math.max(most, model.allocated[step]);
      level = model.allocated[step];
    }
    curve[column] = most < 0 ? level : most;
  }
  return curve;
}

function drawIterations(canvas, model) {
  if (canvas.clientWidth === 0) return;
  const {pen, width, height} = prepare(canvas);
  // If there are very many iterations, only some of them are drawn, which are spread evenly.
  const every = Math.ceil(model.iterations.length / 500);
  const curves = model.iterations.filter((_, i, all) => i % every === 0 || i + 1 === all.length).map((one) => iterationCurve(model, one));
  const last = curves[curves.length - 1];
  const area = {left: 60, top: 8, width: width - 62, height: height - 28};
  const highest = niceBytes(Math.max(1, ...curves.map((curve) => Math.max(...curve))));
  drawLevelGrid(pen, area, highest);
  const x = (column) => area.left + column / (CURVE_COLUMNS - 1) * area.width;
  const y = (bytes) => area.top + area.height - bytes / highest * area.height;
  const line = (curve, colour, thick) => {
    pen.beginPath();
    curve.forEach((bytes, column) => pen.lineTo(x(column), y(bytes)));
    pen.strokeStyle = colour;
    pen.lineWidth = thick;
    pen.stroke();
  };
  if (curves.length <= MOST_CURVES) {
    curves.slice(0, -1).forEach((curve) => line(curve, theme.get('--reserved'), 1));
  } else {
    const columns = Array.from({length: CURVE_COLUMNS}, (_, column) => curves.map((curve) => curve[column]).sort((a, b) => a - b));
    const share = (part) => columns.map((column) => column[Math.round(part * (column.length - 1))]);
    const band = (low, high, colour) => {
      pen.beginPath();
      high.forEach((bytes, column) => pen.lineTo(x(column), y(bytes)));
      for (let column = CURVE_COLUMNS - 1; column >= 0; --column) pen.lineTo(x(column), y(low[column]));
      pen.fillStyle = colour;
      pen.fill();
    };
    band(share(0), share(1), theme.get('--allocated-fill'));
    band(share(0.25), share(0.75), theme.get('--allocated-half'));
  }
  line(last, theme.get('--allocated'), 2);
  pen.fillStyle = theme.get('--quiet');
  pen.textBaseline = 'alphabetic';
  pen.textAlign = 'left';
  pen.fillText('its first event', area.left, height - 6);
  pen.textAlign = 'right';
  pen.fillText('its last', area.left + area.width, height - 6);
}

function drawPeaks(canvas, list) {
  if (canvas.clientWidth === 0) return;
  const {pen, width, height} = prepare(canvas);
  const area = {left: 60, top: 8, width: width - 62, height: height - 28};
  const highest = niceBytes(Math.max(1, ...list.map((one) => one.peak_bytes)));
  drawLevelGrid(pen, area, highest);
  const across = area.width / list.length;
  const y = (bytes) => area.top + area.height - bytes / highest * area.height;
  const gap = across > 5 ? 1 : 0;
  list.forEach((one, i) => {
    pen.fillStyle = theme.get('--allocated-half');
    pen.fillRect(area.left + i * across, y(one.peak_bytes), Math.max(0.5, across - gap), y(0) - y(one.peak_bytes));
    pen.fillStyle = theme.get('--allocated');
    pen.fillRect(area.left + i * across, y(one.end_bytes), Math.max(0.5, across - gap), y(0) - y(one.end_bytes));
  });
  pen.fillStyle = theme.get('--quiet');
  pen.textBaseline = 'alphabetic';
  pen.textAlign = 'left';
  pen.fillText('1; strong: live at its end', area.left, height - 6);
  pen.textAlign = 'right';
  pen.fillText(countText(list.length), area.left + area.width, height - 6);
}
