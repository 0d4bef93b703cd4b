// Shows addresses over time. Each block is a box from its birth to its death, and as high as its
// size. Addresses that were never used are left out. The time axis is the axis of the timeline
// above.
class Addresses {
  constructor(view) {
    this.view = view;
    this.canvas = byId('addresses');
    this.drag = null;
    this.sight = new InSight(this.canvas, () => this.paint());
    this.listen();
    byId('addresses-fit').addEventListener('click', () => this.show(0, this.total));
    byId('addresses-in').addEventListener('click', () => this.zoom(0.5));
    byId('addresses-out').addEventListener('click', () => this.zoom(2));
  }

  setModel(model) {
    this.model = model;
    this.ranges = null;
    byId('addresses-panel').hidden = model.blocks.length === 0 || model.firstEvent === model.lastEvent;
    this.axisKind = null;
  }

  // The positions of addresses are computed when the picture is drawn for the first time.
  layOut() {
    const {ranges, total} = everReserved(this.model);
    this.ranges = ranges;
    this.starts = Float64Array.from(ranges, (range) => range.from);
    this.total = total;
    this.low = 0;
    this.high = total;
  }

  // Returns the vertical position of an address among all addresses that were ever used.
  heightOf(address) {
    const place = Math.min(this.ranges.length - 1, lowerBound(this.starts, address + 1) - 1);
    if (place < 0) return 0;
    const range = this.ranges[place];
    return range.at + Math.min(address - range.from, range.to - range.from);
  }

  addressAt(height) {
    const range = this.ranges.find((one) => height < one.at + one.to - one.from) || this.ranges[this.ranges.length - 1];
    return range.from + height - range.at;
  }

  show(low, high) {
    const span = Math.min(this.total, Math.max(512, high - low));
    this.low = Math.max(0, Math.min(low, this.total - span));
    this.high = this.low + span;
    this.draw();
  }

  zoom(factor, around = (this.low + this.high) / 2) { this.show(around - (around - this.low) * factor, around + (this.high - around) * factor); }

  // Makes the boxes along the timeline's axis. They are made again only if the axis has changed.
  boxes() {
    const {axis} = this.view.timeline;
    if (this.axisKind === axis.kind) return this.made;
    this.axisKind = axis.kind;
    const boxesOf = (lives) => ({
      from: Float64Array.from(lives.birth, (event) => axis.placeOf(event)),
      to: Float64Array.from(lives.death, (event) => event === Infinity ? Infinity : axis.placeOf(event)),
      low: Float64Array.from(lives.address, (address) => this.heightOf(address)),
      size: lives.size,
    });
    this.made = {blocks: boxesOf(this.model.blocks), segments: boxesOf(this.model.segments)};
    return this.made;
  }

  draw() { this.sight.ask(); }

  paint() {
    if (!this.model || byId('addresses-panel').hidden || this.canvas.clientWidth === 0) return;
    if (!this.ranges) this.layOut();
    const {pen, width, height} = prepare(this.canvas);
    const {timeline, grouping, matches, kept} = this.view;
    this.area = {left: timeline.area ? timeline.area.left : 70, top: 6, height: height - 12};
    this.area.width = width - this.area.left - 10;
    const {area} = this;
    const across = area.width / (timeline.to - timeline.from);
    const up = area.height / (this.high - this.low);
    const paint = (boxes, i, least) => {
      const left = Math.max(area.left, area.left + (boxes.from[i] - timeline.from) * across);
      const right = Math.min(area.left + area.width, area.left + (boxes.to[i] - timeline.from) * across);
      const bottom = Math.min(area.top + area.height, area.top + area.height - (boxes.low[i] - this.low) * up);
      const top = Math.max(area.top, area.top + area.height - (boxes.low[i] + boxes.size[i] - this.low) * up);
      if (right < left || bottom < top || right < area.left || left > area.left + area.width) return null;
      if (bottom - top < least && right - left < least) return null;
      pen.fillRect(left, top, Math.max(right - left, 0.6), Math.max(bottom - top, 0.6));
      return {left, top, width: Math.max(right - left, 2), height: Math.max(bottom - top, 2)};
    };
    const {blocks, segments} = this.boxes();
    pen.fillStyle = theme.get('--hole');
    for (let i = 0; i < segments.size.length; ++i) paint(segments, i, 0.1);
    let last = null;
    let keptBox = null;
    for (let i = 0; i < blocks.size.length; ++i) {
      if (this.model.blocks.pending[i]) continue;
      const wanted = !matches || matches[i];
      const colour = wanted ? grouping.colourOfBlock(i) : theme.get('--series-none');
      if (colour !== last) pen.fillStyle = last = colour;
      pen.globalAlpha = wanted ? 0.75 + i * 37 % 25 / 100 : 0.35;
      const box = paint(blocks, i, 0.25);
      if (kept && kept.number === i) keptBox = box;
    }
    pen.globalAlpha = 1;
    this.drawEdges(pen, up);
    pen.strokeStyle = theme.get('--ink');
    pen.lineWidth = 2;
    if (keptBox) pen.strokeRect(keptBox.left, keptBox.top, keptBox.width, keptBox.height);
    const cursor = area.left + (timeline.place(this.view.event) - timeline.from) * across;
    pen.fillStyle = theme.get('--ink');
    if (cursor >= area.left && cursor <= area.left + area.width) pen.fillRect(Math.round(cursor), area.top, 1.5, area.height);
    if (this.drag && this.drag.to) {
      const {from, to} = this.drag;
      pen.fillStyle = theme.get('--allocated-fill');
      pen.fillRect(from.x, from.y, to.x - from.x, to.y - from.y);
      pen.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
    }
  }

  // Draws the edges between ranges of addresses, and says how much is shown.
  drawEdges(pen, up) {
    const {area} = this;
    pen.fillStyle = theme.get('--line');
    if (this.ranges.length < 200) {
      for (const range of this.ranges) {
        if (range.at > this.low && range.at < this.high) pen.fillRect(area.left, Math.round(area.top + area.height - (range.at - this.low) * up), area.width, 1);
      }
    }
    pen.fillStyle = theme.get('--quiet');
    pen.textAlign = 'right';
    for (let i = 0; i <= 4; ++i) {
      pen.textBaseline = i === 0 ? 'bottom' : i === 4 ? 'top' : 'middle';
      pen.fillText(bytesText(Math.round(this.low + (this.high - this.low) * i / 4)), area.left - 8, area.top + area.height - area.height * i / 4);
    }
  }

  blockAt(x, y) {
    if (!this.made || !this.area || x < this.area.left) return -1;
    const {timeline} = this.view;
    const place = timeline.from + (x - this.area.left) / this.area.width * (timeline.to - timeline.from);
    const height = this.low + (this.area.top + this.area.height - y) / this.area.height * (this.high - this.low);
    const {from, to, low, size} = this.made.blocks;
    for (let i = size.length - 1; i >= 0; --i) {
      if (from[i] <= place && place < to[i] && low[i] <= height && height < low[i] + size[i] && !this.model.blocks.pending[i]) return i;
    }
    return -1;
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener('wheel', (event) => {
      const {timeline} = this.view;
      const factor = event.deltaY > 0 ? 1.25 : 0.8;
      const place = timeline.from + (event.offsetX - this.area.left) / this.area.width * (timeline.to - timeline.from);
      if (event.shiftKey) timeline.zoom(factor, place);
      else this.zoom(factor, this.low + (this.area.top + this.area.height - event.offsetY) / this.area.height * (this.high - this.low));
      event.preventDefault();
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => {
      this.sight.settle();
      if (event.button !== 0) return;
      this.drag = {from: {x: event.offsetX, y: event.offsetY}, to: null};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (this.drag && Math.hypot(event.offsetX - this.drag.from.x, event.offsetY - this.drag.from.y) > 6) {
        this.drag.to = {x: event.offsetX, y: event.offsetY};
        return this.draw();
      }
      const block = this.blockAt(event.offsetX, event.offsetY);
      if (block < 0) return tip.hide();
      tip.show(`${bytesText(this.model.blocks.size[block])}: ${this.model.nameOfBlock(block)}`, event.clientX, event.clientY);
    });
    canvas.addEventListener('pointerup', (event) => {
      const {drag} = this;
      this.drag = null;
      if (!drag) return;
      if (drag.to) return this.zoomTo(drag.from, drag.to);
      const block = this.blockAt(event.offsetX, event.offsetY);
      const {timeline} = this.view;
      this.view.setEvent(timeline.eventAt(timeline.from + (event.offsetX - this.area.left) / this.area.width * (timeline.to - timeline.from)));
      this.view.keep(block < 0 ? null : this.model.blocks.life(block));
    });
    canvas.addEventListener('pointerleave', () => tip.hide());
    canvas.addEventListener('dblclick', () => {
      this.view.timeline.fit();
      this.show(0, this.total);
    });
    canvas.addEventListener('keydown', (event) => this.view.stepBlocks(event));
  }

  zoomTo(a, b) {
    const {timeline} = this.view;
    const {area} = this;
    const place = (x) => timeline.from + (x - area.left) / area.width * (timeline.to - timeline.from);
    const height = (y) => this.low + (area.top + area.height - y) / area.height * (this.high - this.low);
    const low = height(Math.max(a.y, b.y));
    const high = height(Math.min(a.y, b.y));
    timeline.show(place(Math.min(a.x, b.x)), place(Math.max(a.x, b.x)));
    this.show(low, high);
  }
}

// Returns all ranges of addresses that were ever reserved, or used without being reserved. They are
// in the order of addresses.
function everReserved(model) {
  const lives = model.segments.length ? [model.segments, model.blocks] : [model.blocks];
  const begins = lives.flatMap((one) => [...one.address]);
  const sizes = lives.flatMap((one) => [...one.size]);
  const order = Uint32Array.from(begins.keys()).sort((a, b) => begins[a] - begins[b]);
  const ranges = [];
  let total = 0;
  for (const i of order) {
    const last = ranges[ranges.length - 1];
    const to = begins[i] + sizes[i];
    if (last && begins[i] <= last.to) last.to = Math.max(last.to, to);
    else ranges.push({from: begins[i], to});
  }
  for (const range of ranges) {
    range.at = total;
    total += range.to - range.from;
  }
  return {ranges, total: Math.max(1, total)};
}
