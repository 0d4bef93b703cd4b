// Shows the iteration with the median time by the simulated GPU's own clock: where memory was, and
// the traffic over PCIe or NVLink in both directions.
const LINK_COLUMNS = 120;

function clockPanel(view) {
  const {clock, words} = view.model.detail;
  if (!clock) return null;
  const places = element('canvas', {id: 'clock-places', role: 'img', class: 'curves', 'aria-label': 'Live memory on the GPU and in host memory within one iteration'});
  const link = element('canvas', {id: 'clock-link', role: 'img', class: 'curves', 'aria-label': 'Bytes over the link within one iteration, to the GPU upwards and to the host downwards'});
  const entry = (colour, text) => element('span', {}, element('i', {style: `background:var(${colour})`}), text);
  const columns = linkColumns(clock);
  link.addEventListener('pointermove', (event) => {
    const i = Math.floor((event.offsetX - 60) / (link.clientWidth - 62) * LINK_COLUMNS);
    if (i < 0 || i >= LINK_COLUMNS) return tip.hide();
    tip.show(`At ${timeText(i / LINK_COLUMNS * columns.span)}, within ${timeText(columns.span / LINK_COLUMNS)}: ${bytesText(Math.round(columns.in[i]))} copied to the GPU, ` +
        `${bytesText(Math.round(columns.out[i]))} to the host, ${bytesText(Math.round(columns.read[i]))} used in place`, event.clientX, event.clientY);
  });
  link.addEventListener('pointerleave', () => tip.hide());
  const made = panel('One iteration by the model of the card',
      element('p', {class: 'quiet'}, words.step, ' The pictures show the iteration that takes the median time, along the program\u2019s time, which may be ahead of the card\u2019s work.'),
      element('h3', {}, 'Where live memory is'), element('span', {class: 'legend'}, entry('--series-0', 'on the GPU'), entry('--series-2', 'in host memory')), places,
      element('h3', {}, 'Over the link'),
      element('span', {class: 'legend'}, entry('--series-0', 'copied to the GPU (up)'), entry('--series-2', 'copied to the host (down)'), entry('--series-4', 'used in place in host memory (up)')), link);
  const sights = [new InSight(places, () => drawPlaces(places, clock)), new InSight(link, () => drawLink(link, columns))];
  made.redraw = () => sights.forEach((sight) => sight.ask());
  return made;
}

// Returns the traffic in columns of equal time; the bytes between two samples are spread evenly.
function linkColumns(clock) {
  const span = Math.max(1, clock.time[clock.time.length - 1]);
  const made = {span};
  for (const name of ['in', 'out', 'read']) {
    made[name] = new Float64Array(LINK_COLUMNS);
    for (let i = 1; i < clock.time.length; ++i) {
      const bytes = clock[name][i] - clock[name][i - 1];
      if (bytes <= 0) continue;
      const from = clock.time[i - 1] / span * LINK_COLUMNS;
      const to = Math.max(clock.time[i] / span * LINK_COLUMNS, from + 1e-9);
      for (let column = Math.floor(from); column < Math.min(LINK_COLUMNS, to); ++column) {
        made[name][column] += bytes * (Math.min(to, column + 1) - Math.max(from, column)) / (to - from);
      }
    }
  }
  return made;
}

function drawClockAxis(pen, area, height, span) {
  pen.fillStyle = theme.get('--quiet');
  pen.textBaseline = 'alphabetic';
  pen.textAlign = 'left';
  pen.fillText('0', area.left, height - 6);
  pen.textAlign = 'right';
  pen.fillText(timeText(span), area.left + area.width, height - 6);
}

// Draws the levels. Each level is drawn from its sample to the next one.
function drawPlaces(canvas, clock) {
  if (canvas.clientWidth === 0) return;
  const {pen, width, height} = prepare(canvas);
  const area = {left: 60, top: 8, width: width - 62, height: height - 28};
  const span = Math.max(1, clock.time[clock.time.length - 1]);
  const whole = clock.device.map((bytes, i) => bytes + clock.host[i]);
  const highest = niceBytes(Math.max(1, ...whole));
  drawLevelGrid(pen, area, highest);
  const x = (time) => area.left + time / span * area.width;
  const y = (bytes) => area.top + area.height - bytes / highest * area.height;
  const fill = (levels, colour) => {
    pen.beginPath();
    pen.moveTo(area.left, y(0));
    levels.forEach((bytes, i) => {
      pen.lineTo(x(clock.time[i]), y(bytes));
      pen.lineTo(x(i + 1 < levels.length ? clock.time[i + 1] : span), y(bytes));
    });
    pen.lineTo(area.left + area.width, y(0));
    pen.closePath();
    pen.fillStyle = colour;
    pen.fill();
  };
  fill(whole, theme.get('--series-2'));
  fill(clock.device, theme.get('--series-0'));
  drawClockAxis(pen, area, height, span);
}

function drawLink(canvas, columns) {
  if (canvas.clientWidth === 0) return;
  const {pen, width, height} = prepare(canvas);
  const area = {left: 60, top: 8, width: width - 62, height: height - 28};
  const up = columns.in.map((bytes, i) => bytes + columns.read[i]);
  const most = niceBytes(Math.max(1, ...up, ...columns.out));
  const middle = area.top + area.height / 2;
  const scale = area.height / 2 / most;
  pen.strokeStyle = theme.get('--line');
  pen.fillStyle = theme.get('--quiet');
  pen.textBaseline = 'middle';
  pen.textAlign = 'right';
  for (const part of [-1, 0, 1]) {
    const y = Math.round(middle - part * area.height / 2) + 0.5;
    pen.beginPath();
    pen.moveTo(area.left, y);
    pen.lineTo(area.left + area.width, y);
    pen.stroke();
    pen.fillText(bytesText(Math.abs(part) * most), area.left - 8, y);
  }
  const across = area.width / LINK_COLUMNS;
  const box = (i, from, to, colour) => {
    if (from === to) return;
    pen.fillStyle = theme.get(colour);
    pen.fillRect(area.left + i * across, middle - to * scale, Math.max(0.5, across - 0.5), (to - from) * scale);
  };
  for (let i = 0; i < LINK_COLUMNS; ++i) {
    box(i, 0, columns.in[i], '--series-0');
    box(i, columns.in[i], up[i], '--series-4');
    box(i, -columns.out[i], 0, '--series-2');
  }
  drawClockAxis(pen, area, height, columns.span);
}
