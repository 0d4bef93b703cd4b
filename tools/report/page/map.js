// The address space at one moment. The ranges stand one after the other and are wrapped into lines
// like text. Addresses that are not reserved are left out.
class MemoryMap {
  constructor(view) {
    this.view = view;
    this.canvas = byId('map');
    this.hover = null;
    this.sight = new InSight(this.canvas, () => this.paint());
    this.canvas.addEventListener('pointermove', (event) => this.point(event, false));
    this.canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      tip.hide();
      this.tell(this.view.kept);
    });
    this.canvas.addEventListener('click', (event) => this.point(event, true));
    this.canvas.addEventListener('keydown', (event) => this.view.stepBlocks(event));
  }

  setModel(model) { this.model = model; }

  update() {
    if (!this.model) return;
    byId('map-panel').hidden = this.model.blocks.length === 0;
    const {ranges, pooled, away} = this.model.layoutAt(this.view.event);
    this.pieces = [];
    this.total = 0;
    let free = 0;
    let pieces = 0;
    let largest = 0;
    const gap = (size) => {
      free += size;
      ++pieces;
      largest = Math.max(largest, size);
    };
    for (const range of ranges) {
      let at = range.from;
      const place = (address) => this.total + (address - range.from);
      for (const block of range.blocks) {
        if (block.address > at) {
          gap(block.address - at);
          this.pieces.push({from: place(at), to: place(block.address), address: at, range});
        }
        this.pieces.push({from: place(block.address), to: place(Math.min(range.to, block.address + block.size)), address: block.address, block, range});
        at = Math.max(at, block.address + block.size);
      }
      if (at < range.to) {
        gap(range.to - at);
        this.pieces.push({from: place(at), to: place(range.to), address: at, range});
      }
      range.at = this.total;
      this.total += range.to - range.from;
    }
    this.ranges = ranges;
    this.pooled = pooled;
    this.away = away;
    this.free = {bytes: free, pieces, largest};
    this.summarise();
    this.draw();
  }

  summarise() {
    const blocks = this.pieces.filter((piece) => piece.block && !piece.block.pending).length;
    const line = byId('map-summary');
    line.textContent = '';
    line.dataset.blocks = blocks;
    line.dataset.free = this.free.bytes;
    line.dataset.total = this.total;
    const what = this.pooled ? `${counted(this.ranges.length, 'segment')}, ${bytesText(this.total)}` : bytesText(this.total);
    line.append(`${what}: ${counted(blocks, 'block')}`);
    if (this.pooled) {
      line.append(`, ${bytesText(this.free.bytes)} free in ${counted(this.free.pieces, 'piece')}, the largest ${bytesText(this.free.largest)}`);
    }
    const away = this.away.reduce((sum, one) => sum + one.size, 0);
    line.dataset.away = away;
    if (away > 0) line.append(`; ${bytesText(away)} in host memory or paused`);
    if (this.model.detail.left_out > 0) {
      line.append(` (of small and short-lived blocks ${countText(this.model.detail.left_out)} are not drawn)`);
    }
  }

  get lines() { return Math.max(6, Math.min(28, Math.round(Math.sqrt(this.pieces.length) * 1.2))); }

  draw() {
    if (!this.pieces) return;
    this.canvas.style.height = `${Math.min(360, this.lines * 24)}px`;
    this.sight.ask();
  }

  paint() {
    if (!this.pieces || this.canvas.clientWidth === 0) return;
    const {pen, width, height} = prepare(this.canvas);
    this.width = width;
    this.lineHeight = height / this.lines;
    this.perLine = Math.max(1, Math.ceil(this.total / this.lines));
    pen.fillStyle = theme.get('--hole');
    const {grouping, matches} = this.view;
    const barHeight = this.lineHeight - 3;
    const each = (from, to, visit) => {
      for (let line = Math.floor(from / this.perLine); line * this.perLine < to; ++line) {
        const left = Math.max(from - line * this.perLine, 0) / this.perLine * width;
        const right = Math.min(to - line * this.perLine, this.perLine) / this.perLine * width;
        visit(left, line * this.lineHeight, Math.max(0, right - left), line);
      }
    };
    each(0, this.total, (left, top, across) => pen.fillRect(left, top, across, barHeight));
    for (const piece of this.pieces) {
      if (!piece.block) {
        each(piece.from, piece.to, (left, top, across) => this.drawHole(pen, left, top, across, barHeight));
        continue;
      }
      const wanted = !matches || matches[piece.block.number];
      pen.fillStyle = wanted ? grouping.colourOfBlock(piece.block.number) : theme.get('--series-none');
      pen.globalAlpha = piece.block.pending || !wanted ? 0.35 : 0.72 + (piece.block.number * 37 % 29) / 100;
      each(piece.from, piece.to, (left, top, across) => {
        // Draws a thin gap after the block if there is room for it.
        pen.fillRect(left, top, across > 3 ? across - 0.7 : Math.max(across, 0.4), barHeight);
      });
      pen.globalAlpha = 1;
    }
    this.drawAway(pen, barHeight, each);
    this.drawEdges(pen, barHeight);
    const kept = this.view.kept;
    const piece = this.hover || (kept && this.pieces.find((one) => one.block && one.block.number === kept.number));
    if (!piece) return;
    pen.strokeStyle = theme.get('--ink');
    pen.lineWidth = 2;
    each(piece.from, piece.to, (left, top, across) => pen.strokeRect(left + 0.5, top + 0.5, Math.max(2, across - 1), barHeight - 1));
  }

  // Covers the lower half of each block whose memory is not on the device.
  drawAway(pen, barHeight, each) {
    if (this.away.length === 0) return;
    pen.fillStyle = theme.get('--ink');
    pen.globalAlpha = 0.62;
    for (const one of this.away) {
      const range = this.ranges.find((other) => one.address < other.to && one.address + one.size > other.from);
      if (!range) continue;
      const from = range.at + Math.max(0, one.address - range.from);
      const to = range.at + Math.min(range.to, one.address + one.size) - range.from;
      each(from, to, (left, top, across) => pen.fillRect(left, top + barHeight / 2, Math.max(across, 0.4), barHeight / 2));
    }
    pen.globalAlpha = 1;
  }

  drawHole(pen, left, top, across, barHeight) {
    if (across < 3) return;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, across, barHeight);
    pen.clip();
    pen.strokeStyle = theme.get('--hole-line');
    pen.lineWidth = 1;
    pen.beginPath();
    for (let x = left - barHeight; x < left + across; x += 6) {
      pen.moveTo(x, top + barHeight);
      pen.lineTo(x + barHeight, top);
    }
    pen.stroke();
    pen.restore();
  }

  // Marks the begins of segments, if they are few enough to be visible.
  drawEdges(pen, barHeight) {
    if (!this.pooled || this.ranges.length > 600) return;
    pen.fillStyle = theme.get('--edge');
    for (const range of this.ranges) {
      const line = Math.floor(range.at / this.perLine);
      const left = (range.at - line * this.perLine) / this.perLine * this.width;
      pen.fillRect(left - 0.5, line * this.lineHeight, 1, barHeight);
    }
  }

  pieceAt(x, y) {
    const line = Math.floor(y / this.lineHeight);
    const place = line * this.perLine + x / this.width * this.perLine;
    return this.pieces.find((piece) => place >= piece.from && place < piece.to) || null;
  }

  point(event, keep) {
    this.sight.settle();
    const piece = this.pieceAt(event.offsetX, event.offsetY);
    this.hover = piece;
    if (keep) this.view.keep(piece && piece.block ? piece.block : null);
    this.draw();
    if (!piece) return tip.hide();
    tip.show(this.words(piece), event.clientX, event.clientY);
    if (piece.block) this.tell(piece.block);
    else byId('map-readout').textContent = this.words(piece);
  }

  words(piece) {
    if (piece.block) {
      return `${bytesText(piece.block.size)}${piece.block.pending ? ' on the way back' : ''}: ${this.model.nameOfBlock(piece.block.number)}`;
    }
    const index = this.pieces.indexOf(piece);
    const neighbour = (other) => other && other.range === piece.range && other.block
      ? `${bytesText(other.block.size)} of ${this.model.sites[other.block.site].site}` : "the segment's edge";
    return `${bytesText(piece.to - piece.from)} free, between ${neighbour(this.pieces[index - 1])} and ${neighbour(this.pieces[index + 1])}`;
  }

  tell(block) {
    const line = byId('map-readout');
    line.textContent = '';
    if (!block) {
      line.append('Point at a block to see whose it is; click to keep it.');
      return;
    }
    const site = this.model.sites[block.site];
    const lived = block.lifeTime === Infinity ? 'live at the end' : `lived ${timeText(block.lifeTime)}`;
    line.append(element('b', {}, bytesText(block.size)), ` at 0x${block.address.toString(16)}, `, element('b', {}, site.site),
        `${site.operation ? ', ' + site.operation : ''}${site.phase !== 'unknown' ? ', ' + site.phase : ''}; `,
        `from ${timeText(block.birthTime)} (event ${countText(block.birth)}), ${lived}`);
    line.dataset.bytes = block.size;
    line.dataset.site = site.site;
  }
}
