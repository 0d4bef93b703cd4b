// Draws the levels over time as stacked areas. The wheel, or dragging over a span, zooms. A click
// sets the cursor and shows which groups held memory at this moment.
class Timeline {
  constructor(view) {
    this.view = view;
    this.canvas = byId('timeline');
    this.overview = byId('overview');
    this.axisKind = 'folded';
    this.drag = null;
    this.hover = null;
    this.listen();
  }

  setModel(model) {
    this.model = model;
    this.axes = {};
    if (model.time[model.steps - 1] === 0) this.axisKind = 'event';
    else if (this.axisKind === 'folded' && foldsOf(model).length === 0) this.axisKind = 'time';
    this.fit();
  }

  axisOf(kind) { return this.axes[kind] || (this.axes[kind] = new Axis(this.model, kind)); }
  get axis() { return this.axisOf(this.axisKind); }
  get byTime() { return this.axis.isTime; }
  get begin() { return this.axis.begin; }
  get end() { return this.axis.end; }

  fit() { this.show(this.begin, this.end); }

  show(from, to) {
    const least = Math.max(this.byTime ? 1000 : 8, this.end * 1e-6);
    const span = Math.min(this.end - this.begin, Math.max(least, to - from));
    from = Math.max(this.begin, Math.min(from, this.end - span));
    this.from = from;
    this.to = from + span;
    this.draw();
    this.view.spanChanged();
  }

  zoom(factor, around) {
    if (around === undefined) around = this.place(this.view.event);
    if (around < this.from || around > this.to) around = (this.from + this.to) / 2;
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  // Returns the kinds of axis that are useful for this trace.
  axisKinds() {
    if (this.model.time[this.model.steps - 1] === 0) return ['event'];
    return Axis.kinds.filter((kind) => kind !== 'folded' || foldsOf(this.model).length > 0);
  }

  chooseAxis(kind) {
    const whole = this.from <= this.begin && this.to >= this.end;
    const events = [this.axis.eventAt(this.from), this.axis.eventAt(this.to)];
    this.axisKind = kind;
    if (whole) this.fit();
    else this.show(this.place(events[0]), this.place(events[1]));
  }

  // Switches between an axis of time and an axis of events.
  switchAxis() {
    const kinds = this.axisKinds();
    this.chooseAxis(this.axisKind === 'event' ? kinds[0] : 'event');
  }

  place(event) { return this.axis.placeOf(event); }
  eventAt(place) { return this.axis.eventAt(place); }

  // Scrolls the timeline so that the cursor is visible.
  follow() {
    const place = this.place(this.view.event);
    if (place >= this.from && place <= this.to) return this.draw();
    const span = this.to - this.from;
    this.show(place - span / 2, place + span / 2);
  }

  placeAt(event) { return this.from + (event.offsetX - this.area.left) / this.area.width * (this.to - this.from); }

  listen() {
    this.canvas.addEventListener('wheel', (event) => {
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = (event.deltaX || event.deltaY) / this.area.width * (this.to - this.from);
        this.show(this.from + by, this.to + by);
      } else {
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.placeAt(event));
      }
      event.preventDefault();
    }, {passive: false});
    this.canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.drag = {from: this.placeAt(event), x: event.offsetX, to: null};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      this.hover = {x: event.offsetX, y: event.offsetY};
      if (this.drag && Math.abs(event.offsetX - this.drag.x) > 4) this.drag.to = this.placeAt(event);
      this.draw();
      this.tell(event);
    });
    this.canvas.addEventListener('pointerup', (event) => {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (drag.to === null) this.click(event);
      else this.show(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
    });
    this.canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      tip.hide();
      this.draw();
    });
    this.canvas.addEventListener('dblclick', () => this.fit());
    this.canvas.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return;
      const [largest] = this.stack.at(this.columnOf(this.x(this.place(this.view.event), this.area)));
      if (largest) this.view.showGroup(this.stack, largest.group, true);
      event.preventDefault();
    });
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

  columnOf(x) { return Math.max(0, Math.min(this.stack.columns - 1, Math.floor((x - this.area.left) / this.area.width * this.stack.columns))); }

  // Returns the group under the pointer; undefined if there is none.
  groupUnder(x, y) {
    if (!this.stack || x < this.area.left) return undefined;
    const bytes = (this.area.top + this.area.height - y) / this.area.height * this.highest;
    const group = this.stack.groupAt(this.columnOf(x), bytes);
    return group === null ? undefined : group;
  }

  click(event) {
    const group = this.groupUnder(event.offsetX, event.offsetY);
    this.view.setEvent(this.eventAt(this.placeAt(event)));
    if (group !== undefined) this.view.showGroup(this.stack, group);
  }

  // Shows the moment under the pointer, and the largest groups at this moment.
  tell(event) {
    if (!this.stack || event.offsetX < this.area.left || event.offsetX > this.area.left + this.area.width) return tip.hide();
    const column = this.columnOf(event.offsetX);
    const parts = this.stack.at(column);
    const under = this.groupUnder(event.offsetX, event.offsetY);
    const place = this.placeAt(event);
    const when = this.byTime ? timeText(this.axis.timeAt(place)) : `event ${countText(Math.round(place) - this.model.opening)}`;
    const shown = parts.slice(0, 6);
    const lit = parts.find((part) => part.group === under);
    if (lit && !shown.includes(lit)) shown[5] = lit;
    const turn = turnAt(this.model, this.eventAt(place));
    tip.list(`${when}: ${bytesText(this.stack.levels[column])}${turn && ` (${turn})`}`, shown.map((part) => ({
      colour: this.stack.colourOf(part.group), name: this.stack.nameOf(part.group), value: bytesText(part.bytes), lit: part.group === under})),
    parts.length > shown.length ? `and ${countText(parts.length - shown.length)} more` : null, event.clientX, event.clientY);
  }

  draw() {
    if (!this.model || this.canvas.clientWidth === 0) return;
    const {pen, width, height} = prepare(this.canvas);
    const left = width < 520 ? 56 : 70;
    this.area = {left, top: 16, width: width - left - 10, height: height - 42};
    this.highest = niceBytes(this.highestIn(this.from, this.to, this.view.others()));
    drawIterationBands(pen, this);
    drawLevelGrid(pen, this.area, this.highest);
    this.drawTicks(pen, height);
    this.restack();
    const lit = this.hover && !this.drag ? this.groupUnder(this.hover.x, this.hover.y) : this.view.litGroup(this.stack);
    this.stack.draw(pen, this.area, this.highest, lit);
    const curve = (model, values, line, dash) => drawCurve(pen, this.area, this.axisFor(model), model, values, line, dash, this.from, this.to, this.highest);
    for (const other of this.view.others()) curve(other, other.allocated, theme.get('--backward'), [6, 3]);
    if (this.model.reserved) curve(this.model, this.model.reserved, theme.get('--reserved'));
    curve(this.model, this.model.requested, theme.get('--requested'), [2, 3]);
    this.drawFolds(pen);
    drawTurns(pen, this);
    drawMarks(pen, this);
    this.drawOverview();
  }

  // Returns the axis for another process. It has no folded stretches, because idle stretches differ
  // between processes.
  axisFor(model) { return model === this.model ? this.axis : new Axis(model, this.byTime ? 'time' : 'event'); }

  // Computes the areas, once for each combination of span, grouping and search.
  restack() {
    const {grouping, matches} = this.view;
    const columns = Math.max(1, Math.floor(this.area.width));
    const key = [this.axisKind, this.from, this.to, columns].join();
    if (this.stack && this.key === key && this.stack.grouping === grouping && this.stackMatches === matches) return;
    this.key = key;
    this.stackMatches = matches;
    this.stack = new Stack(grouping, this.axis, this.from, this.to, columns, matches);
    this.view.fillStackLegend(this.stack);
  }

  highestIn(from, to, others) {
    let highest = 1;
    for (const model of [this.model, ...others]) {
      const {values} = this.axisFor(model);
      const first = Math.max(0, lowerBound(values, from) - 1);
      for (let i = first; i < model.steps && (i === first || values[i] <= to); ++i) {
        highest = Math.max(highest, model.allocated[i], model.reserved ? model.reserved[i] : 0);
      }
    }
    return highest;
  }

  drawTicks(pen, height) {
    pen.fillStyle = theme.get('--quiet');
    pen.textBaseline = 'alphabetic';
    let free = -Infinity;
    for (const [place, text] of this.axis.ticks(this.from, this.to, Math.max(2, Math.floor(this.area.width / 90)))) {
      const x = this.x(place, this.area);
      const half = pen.measureText(text).width / 2;
      const centre = Math.max(this.area.left + half - 4, Math.min(x, this.area.left + this.area.width - half + 6));
      if (centre - half < free) continue;
      pen.textAlign = 'center';
      pen.fillText(text, centre, height - 8);
      pen.fillRect(Math.round(x), this.area.top + this.area.height, 1, 4);
      free = centre + half + 12;
    }
  }

  // Marks the idle stretches, of which only a part is drawn.
  drawFolds(pen) {
    for (const fold of this.axis.folds) {
      const from = this.x(this.axis.placeOfTime(fold.from), this.area);
      const to = this.x(this.axis.placeOfTime(fold.to), this.area);
      if (to < this.area.left || from > this.area.left + this.area.width) continue;
      const left = Math.max(from, this.area.left);
      const across = Math.min(to, this.area.left + this.area.width) - left;
      pen.fillStyle = theme.get('--fold');
      pen.fillRect(left, this.area.top, across, this.area.height);
      pen.save();
      pen.translate(left + across / 2, this.area.top + this.area.height / 2);
      pen.rotate(-Math.PI / 2);
      pen.fillStyle = theme.get('--quiet');
      pen.textAlign = 'center';
      pen.textBaseline = 'middle';
      if (across > 9) pen.fillText(`${timeText(fold.to - fold.from)} idle`, 0, 0);
      pen.restore();
    }
  }

  x(place, area) { return area.left + (place - this.from) / (this.to - this.from) * area.width; }
  xOf(event) { return this.x(this.place(event), this.area); }

  drawOverview() {
    const {pen, width, height} = prepare(this.overview);
    const area = {left: this.area.left, top: 2, width: this.area.width, height: height - 4};
    const highest = this.highestIn(this.begin, this.end, []);
    const fill = theme.get('--allocated-fill');
    drawCurve(pen, area, this.axis, this.model, this.model.allocated, theme.get('--allocated'), [], this.begin, this.end, highest, fill);
    const from = area.left + (this.from - this.begin) / (this.end - this.begin) * area.width;
    const to = area.left + (this.to - this.begin) / (this.end - this.begin) * area.width;
    pen.fillStyle = theme.get('--fold');
    pen.fillRect(area.left, 0, from - area.left, height);
    pen.fillRect(to, 0, area.left + area.width - to, height);
    pen.strokeStyle = theme.get('--accent');
    pen.lineWidth = 1;
    pen.strokeRect(from + 0.5, 0.5, Math.max(2, to - from) - 1, height - 1);
    pen.fillStyle = theme.get('--quiet');
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    pen.fillText(area.left < 70 ? 'all' : 'whole run', area.left - 8, height / 2);
  }
}
