// The levels over time: zoom with the wheel or by dragging over a span, a click sets the cursor.
class Timeline {
  constructor(view) {
    this.view = view;
    this.canvas = byId('timeline');
    this.overview = byId('overview');
    this.byTime = true;
    this.drag = null;
    this.hover = null;
    this.listen();
  }

  setModel(model) {
    this.model = model;
    this.byTime = model.time[model.steps - 1] > 0;
    this.fit();
  }

  // Along the axis: nanoseconds or events.
  get axis() { return this.byTime ? this.model.time : this.model.event; }
  get begin() { return this.byTime ? 0 : this.model.firstEvent; }
  get end() { return Math.max(this.begin + 1, this.axis[this.model.steps - 1]); }

  fit() { this.show(this.begin, this.end); }

  show(from, to) {
    const least = Math.max(this.byTime ? 1000 : 8, this.end * 1e-6);
    const span = Math.min(this.end - this.begin, Math.max(least, to - from));
    from = Math.max(this.begin, Math.min(from, this.end - span));
    this.from = from;
    this.to = from + span;
    this.draw();
  }

  zoom(factor, around) {
    if (around === undefined) around = this.place(this.view.event);
    if (around < this.from || around > this.to) around = (this.from + this.to) / 2;
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  switchAxis() {
    if (this.model.time[this.model.steps - 1] === 0) return;
    const events = [this.eventAt(this.from), this.eventAt(this.to)];
    this.byTime = !this.byTime;
    this.show(this.place(events[0]), this.place(events[1]));
  }

  // Where an event lies along the axis.
  place(event) { return this.byTime ? this.model.time[this.model.stepOf(event)] : event; }
  eventAt(place) {
    if (!this.byTime) return Math.max(this.model.firstEvent, Math.min(this.model.lastEvent, Math.round(place)));
    return this.model.event[this.model.stepAtTime(place)];
  }

  // Keeps the cursor in sight.
  follow() {
    const place = this.place(this.view.event);
    if (place >= this.from && place <= this.to) return this.draw();
    const span = this.to - this.from;
    this.show(place - span / 2, place + span / 2);
  }

  listen() {
    const placeOf = (event) => this.from + (event.offsetX - this.left) / this.plotWidth * (this.to - this.from);
    this.canvas.addEventListener('wheel', (event) => {
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = (event.deltaX || event.deltaY) / this.plotWidth * (this.to - this.from);
        this.show(this.from + by, this.to + by);
      } else {
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, placeOf(event));
      }
      event.preventDefault();
    }, {passive: false});
    this.canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.drag = {from: placeOf(event), x: event.offsetX, to: null};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      this.hover = event.offsetX;
      if (this.drag && Math.abs(event.offsetX - this.drag.x) > 4) this.drag.to = placeOf(event);
      this.draw();
    });
    this.canvas.addEventListener('pointerup', (event) => {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (drag.to === null) this.view.setEvent(this.eventAt(placeOf(event)));
      else this.show(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
    });
    this.canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      this.draw();
    });
    this.canvas.addEventListener('dblclick', () => this.fit());
    const pan = (event) => {
      const centre = this.begin + event.offsetX / this.overview.clientWidth * (this.end - this.begin);
      const span = this.to - this.from;
      this.show(centre - span / 2, centre + span / 2);
    };
    this.overview.addEventListener('pointerdown', (event) => {
      this.overview.setPointerCapture(event.pointerId);
      pan(event);
    });
    this.overview.addEventListener('pointermove', (event) => {
      if (event.buttons) pan(event);
    });
  }

  draw() {
    if (!this.model || this.canvas.clientWidth === 0) return;
    const {pen, width, height} = prepare(this.canvas);
    this.left = 70;
    this.plotWidth = width - this.left - 10;
    const area = {left: this.left, top: 10, width: this.plotWidth, height: height - 36};
    this.highest = niceBytes(this.highestIn(this.from, this.to, this.view.others()));
    this.drawIterations(pen, area);
    this.drawGrid(pen, area, height);
    const curve = (values, line, fill, dash) =>
      this.drawCurve(pen, area, this.model, values, line, fill, dash, this.from, this.to, this.highest);
    if (this.model.reserved) curve(this.model.reserved, theme.get('--reserved'), theme.get('--reserved-fill'));
    for (const other of this.view.others()) {
      this.drawCurve(pen, area, other, other.allocated, theme.get('--backward'), null, [], this.from, this.to, this.highest);
    }
    curve(this.model.allocated, theme.get('--allocated'), theme.get('--allocated-fill'));
    curve(this.model.requested, theme.get('--requested'), null, [3, 3]);
    this.drawMarks(pen, area);
    this.drawOverview();
  }

  highestIn(from, to, others) {
    let highest = 1;
    for (const model of [this.model, ...others]) {
      const axis = this.byTime ? model.time : model.event;
      const first = Math.max(0, lowerBound(axis, from) - 1);
      for (let i = first; i < model.steps && (i === first || axis[i] <= to); ++i) {
        highest = Math.max(highest, model.allocated[i], model.reserved ? model.reserved[i] : 0);
      }
    }
    return highest;
  }

  drawIterations(pen, area) {
    const list = this.model.iterations;
    pen.fillStyle = theme.get('--band');
    list.forEach((iteration, index) => {
      if (index % 2) return;
      const from = this.x(this.byTime ? iteration.begin_ns : iteration.begin_event, area);
      const to = this.x(this.byTime ? iteration.end_ns : iteration.end_event, area);
      const left = Math.max(from, area.left);
      const right = Math.min(to, area.left + area.width);
      if (right > left) pen.fillRect(left, area.top, right - left, area.height);
    });
  }

  drawGrid(pen, area, height) {
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
      pen.fillText(bytesText(this.highest * i / 4), area.left - 8, y);
    }
    pen.textBaseline = 'alphabetic';
    const ticks = Math.max(2, Math.floor(area.width / 130));
    const step = niceStep((this.to - this.from) / ticks);
    for (let place = Math.ceil(this.from / step) * step; place <= this.to; place += step) {
      const x = this.x(place, area);
      pen.textAlign = x < area.left + 24 ? 'left' : x > area.left + area.width - 24 ? 'right' : 'center';
      pen.fillText(this.byTime ? timeText(place) : countText(Math.round(place) - this.model.opening), x, height - 8);
    }
  }

  x(place, area) { return area.left + (place - this.from) / (this.to - this.from) * area.width; }

  // The highest of each column of pixels, so that no peak is lost.
  drawCurve(pen, area, model, values, line, fill, dash, from, to, highest) {
    const axis = this.byTime ? model.time : model.event;
    const columns = Math.max(1, Math.floor(area.width));
    const y = (value) => area.top + area.height - value / highest * area.height;
    const first = Math.max(0, lowerBound(axis, from) - 1);
    let step = first;
    let level = axis[first] > from && first === 0 ? 0 : values[first];
    const points = [];
    for (let column = 0; column < columns; ++column) {
      const until = from + (column + 1) / columns * (to - from);
      let most = level;
      while (step < model.steps && axis[step] <= until) {
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
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.setLineDash([]);
    if (!fill) return;
    pen.lineTo(points[points.length - 1][0], area.top + area.height);
    pen.lineTo(area.left, area.top + area.height);
    pen.closePath();
    pen.fillStyle = fill;
    pen.fill();
  }

  drawMarks(pen, area) {
    const inside = (x) => x >= area.left - 1 && x <= area.left + area.width + 1;
    const line = (x, colour, width) => {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      pen.moveTo(x, area.top);
      pen.lineTo(x, area.top + area.height);
      pen.stroke();
    };
    const kept = this.view.kept;
    if (kept) {
      const from = Math.max(area.left, this.x(this.place(kept.birth), area));
      const to = Math.min(area.left + area.width, kept.death === Infinity ? Infinity : this.x(this.place(kept.death), area));
      pen.fillStyle = theme.get('--accent');
      if (to > from) pen.fillRect(from, area.top + area.height - 4, Math.max(2, to - from), 4);
    }
    for (const failure of this.model.facts.out_of_memory || []) {
      const x = this.x(this.byTime ? failure.time_ns : failure.event, area);
      if (!inside(x)) continue;
      line(x, theme.get('--warn'), 1);
      pen.fillStyle = theme.get('--warn');
      pen.textAlign = 'left';
      pen.fillText('out of memory', x + 4, area.top + 12);
    }
    const peak = this.x(this.place(this.model.peakEvent), area);
    if (inside(peak)) {
      const y = area.top + area.height - this.model.facts.peak.allocated_bytes / this.highest * area.height;
      pen.fillStyle = theme.get('--allocated');
      pen.beginPath();
      pen.arc(peak, y, 4, 0, 7);
      pen.fill();
    }
    if (this.drag && this.drag.to !== null) {
      pen.fillStyle = theme.get('--allocated-fill');
      const from = this.x(this.drag.from, area);
      pen.fillRect(from, area.top, this.x(this.drag.to, area) - from, area.height);
    }
    if (this.hover !== null && this.hover >= area.left) line(Math.round(this.hover) + 0.5, theme.get('--line'), 1);
    const cursor = this.x(this.place(this.view.event), area);
    if (inside(cursor)) line(Math.round(cursor) + 0.5, theme.get('--ink'), 1.5);
  }

  drawOverview() {
    const {pen, width, height} = prepare(this.overview);
    const area = {left: 0, top: 2, width, height: height - 4};
    const highest = this.highestIn(this.begin, this.end, []);
    this.drawCurve(pen, area, this.model, this.model.allocated, theme.get('--allocated'), theme.get('--allocated-fill'), [], this.begin, this.end, highest);
    const from = (this.from - this.begin) / (this.end - this.begin) * width;
    const to = (this.to - this.begin) / (this.end - this.begin) * width;
    pen.fillStyle = theme.get('--band');
    pen.fillRect(0, 0, from, height);
    pen.fillRect(to, 0, width - to, height);
    pen.strokeStyle = theme.get('--accent');
    pen.lineWidth = 1;
    pen.strokeRect(from + 0.5, 0.5, Math.max(2, to - from) - 1, height - 1);
  }
}

// A round number of bytes not below.
function niceBytes(bytes) {
  const unit = 1024 ** Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1024));
  for (const step of [1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024]) {
    if (step * unit >= bytes) return step * unit;
  }
  return bytes;
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  for (const step of [1, 2, 5, 10]) {
    if (step * power >= least) return step * power;
  }
  return least;
}
