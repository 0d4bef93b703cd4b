// Draws the parts of the timeline other than the areas: grid, curves, iterations, marks.
function drawLevelGrid(pen, area, highest) {
  pen.strokeStyle = theme.get('--line');
  pen.fillStyle = theme.get('--quiet');
  pen.lineWidth = 1;
  pen.textBaseline = 'middle';
  pen.textAlign = 'right';
  for (let i = 0; i <= 4; ++i) {
    const y = Math.round(area.top + area.height - area.height * i / 4) + 0.5;
    pen.beginPath();
    pen.moveTo(area.left, y);
    pen.lineTo(area.left + area.width, y);
    pen.stroke();
    pen.fillText(bytesText(highest * i / 4), area.left - 8, y);
  }
}

// Draws the highest value in each column of pixels, so that no peak is lost.
function drawCurve(pen, area, axis, model, values, line, dash, from, to, highest, fill) {
  const places = axis.values;
  const columns = Math.max(1, Math.floor(area.width));
  const y = (value) => area.top + area.height - value / highest * area.height;
  const first = Math.max(0, lowerBound(places, from) - 1);
  let step = first;
  let level = places[first] > from && first === 0 ? 0 : values[first];
  const points = [];
  for (let column = 0; column < columns; ++column) {
    const until = from + (column + 1) / columns * (to - from);
    let most = level;
    while (step < model.steps && places[step] <= until) {
      most = Math.max(most, values[step]);
      level = values[step++];
    }
    points.push([area.left + column, y(most)]);
    if (level !== most) points.push([area.left + column + 0.5, y(level)]);
  }
  pen.beginPath();
  points.forEach(([x, py], i) => i ? pen.lineTo(x, py) : pen.moveTo(x, py));
  pen.setLineDash(dash || []);
  pen.strokeStyle = line;
  pen.lineWidth = dash && dash.length ? 1 : 1.5;
  pen.stroke();
  pen.setLineDash([]);
  if (!fill) return;
  pen.lineTo(points[points.length - 1][0], area.top + area.height);
  pen.lineTo(area.left, area.top + area.height);
  pen.closePath();
  pen.fillStyle = fill;
  pen.fill();
}

// Gives every second iteration a darker background. The number of an iteration stands above it if
// there is room.
function drawIterationBands(pen, timeline) {
  const {area, model} = timeline;
  const right = area.left + area.width;
  pen.textAlign = 'center';
  pen.textBaseline = 'alphabetic';
  let free = -Infinity;
  model.iterations.forEach((iteration, index) => {
    const from = Math.max(timeline.xOf(iteration.begin_event), area.left);
    const to = Math.min(timeline.xOf(iteration.end_event), right);
    if (to <= from) return;
    if (index % 2 === 0 && to - from >= 2) {
      pen.fillStyle = theme.get('--band');
      pen.fillRect(from, area.top, to - from, area.height);
    }
    const centre = (from + to) / 2;
    const text = index === 0 && to - from > 80 ? 'iteration 1' : String(index + 1);
    const half = pen.measureText(text).width / 2;
    if (centre - half < free || (to - from < half && model.iterations.length < 3)) return;
    pen.fillStyle = theme.get('--quiet');
    pen.fillText(text, centre, area.top - 4);
    pen.fillRect(Math.round(from), area.top - 5, 1, 5);
    free = centre + half + 10;
  });
}

// The colours of the states of a process that shares its GPU with others by turns (--share).
const TURN_COLOURS = {turn: '--series-1', waits: '--series-2', parked: '--series-rest', paused: '--series-3'};
const TURN_WORDS = {turn: 'its turn on the GPU', waits: 'waits for its turn', parked: 'on the host for another process', paused: 'paused'};

// Returns the spans of events in each of these states, by device. Outside of them the process ran
// beside others.
function spansOfTurns(turns, end) {
  const spans = [];
  const open = new Map();
  (turns ? turns.event : []).forEach((event, i) => {
    const device = turns.device[i];
    const last = open.get(device);
    if (last) last.end = event;
    open.delete(device);
    const state = turns.state[i];
    if (!TURN_COLOURS[state]) return;
    const span = {device, state, begin: event, end};
    open.set(device, span);
    spans.push(span);
  });
  return spans;
}

// Returns the states at an event, for a tooltip.
function turnAt(model, event) {
  const there = model.turns.filter((span) => span.begin <= event && event < span.end);
  const several = new Set(model.turns.map((span) => span.device)).size > 1;
  return there.map((span) => several ? `GPU ${span.device}: ${TURN_WORDS[span.state]}` : TURN_WORDS[span.state]).join(', ');
}

// Draws a strip at the top of the timeline that shows when the process had its turn and when it
// waited. Several GPUs share the height.
function drawTurns(pen, timeline) {
  const {area, model} = timeline;
  const devices = [...new Set(model.turns.map((span) => span.device))].sort((a, b) => a - b);
  const height = 6 / Math.max(1, devices.length);
  for (const span of model.turns) {
    const from = Math.max(timeline.xOf(span.begin), area.left);
    const to = Math.min(timeline.xOf(span.end), area.left + area.width);
    if (to <= from) continue;
    pen.fillStyle = theme.get(TURN_COLOURS[span.state]);
    pen.fillRect(from, area.top + devices.indexOf(span.device) * height, Math.max(0.5, to - from), height);
  }
}

// Draws on top of the curves: a line for each out-of-memory event, a dot for the peak, a bar
// at the bottom for the life of the block that the reader has pinned, the span that the reader drags
// with the mouse, and lines at the mouse pointer and at the cursor.
function drawMarks(pen, timeline) {
  const {area, model, view} = timeline;
  const inside = (x) => x >= area.left - 1 && x <= area.left + area.width + 1;
  const line = (x, colour, width) => {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(x, area.top);
    pen.lineTo(x, area.top + area.height);
    pen.stroke();
  };
  const {kept} = view;
  if (kept) {
    const from = Math.max(area.left, timeline.xOf(kept.birth));
    const to = kept.death === Infinity ? area.left + area.width : Math.min(area.left + area.width, timeline.xOf(kept.death));
    pen.fillStyle = theme.get('--ink');
    if (to > from) pen.fillRect(from, area.top + area.height - 4, Math.max(2, to - from), 4);
  }
  let free = -Infinity;
  for (const failure of model.facts.out_of_memory || []) {
    const x = timeline.xOf(failure.event);
    if (!inside(x)) continue;
    line(x, theme.get('--warn'), 1.5);
    if (x < free) continue;
    const text = `out of memory: ${bytesText(failure.requested_bytes)}`;
    const width = pen.measureText(text).width + 10;
    const left = x + width > area.left + area.width ? x - width : x;
    pen.fillStyle = theme.get('--warn');
    pen.fillRect(left, area.top, width, 18);
    pen.fillStyle = theme.get('--panel');
    pen.textAlign = 'left';
    pen.textBaseline = 'middle';
    pen.fillText(text, left + 5, area.top + 9.5);
    free = x + width;
  }
  const peak = timeline.xOf(model.peakEvent);
  if (inside(peak)) {
    pen.beginPath();
    pen.arc(peak, area.top + area.height - model.facts.peak.allocated_bytes / timeline.highest * area.height, 4.5, 0, 7);
    pen.fillStyle = theme.get('--ink');
    pen.fill();
    pen.strokeStyle = theme.get('--panel');
    pen.lineWidth = 1.5;
    pen.stroke();
  }
  const {drag, hover} = timeline;
  if (drag && drag.to !== null) {
    pen.fillStyle = theme.get('--allocated-fill');
    const from = timeline.x(drag.from, area);
    pen.fillRect(from, area.top, timeline.x(drag.to, area) - from, area.height);
  }
  if (hover && hover.x >= area.left) line(Math.round(hover.x) + 0.5, theme.get('--quiet'), 1);
  const cursor = timeline.xOf(view.event);
  if (inside(cursor)) line(Math.round(cursor) + 0.5, theme.get('--ink'), 1.5);
}
