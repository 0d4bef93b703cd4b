// Bytes by call stack: who called stands above, what ran below.
class Flame {
  constructor(view) {
    this.view = view;
    this.canvas = byId('flame');
    this.atPeak = true;
    this.canvas.addEventListener('pointermove', (event) => {
      const cell = this.cellAt(event);
      this.hover = cell;
      this.draw();
      if (!cell) return tip.hide();
      tip.show(this.words(cell), event.clientX, event.clientY);
      byId('flame-readout').textContent = this.words(cell);
    });
    this.canvas.addEventListener('pointerleave', () => {
      this.hover = null;
      tip.hide();
      this.draw();
      this.tell();
    });
    this.canvas.addEventListener('click', (event) => {
      const cell = this.cellAt(event);
      if (cell) this.zoom(cell.node);
    });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    byId('flame-up').addEventListener('click', () => this.zoom(this.zoomed.parent || this.root));
    byId('flame-peak').addEventListener('click', () => this.choose(true));
    byId('flame-cursor').addEventListener('click', () => this.choose(false));
  }

  setModel(model) {
    this.model = model;
    this.update();
  }

  choose(atPeak) {
    this.atPeak = atPeak;
    byId('flame-peak').setAttribute('aria-pressed', String(atPeak));
    byId('flame-cursor').setAttribute('aria-pressed', String(!atPeak));
    this.update();
  }

  update() {
    const bytes = this.atPeak ? this.model.sitesAtPeak() : this.model.sitesAt(this.view.event);
    byId('flame-panel').hidden = this.model.sites.length < 2;
    const path = this.zoomed ? this.pathOf(this.zoomed) : [];
    this.root = this.build(bytes);
    this.zoomed = this.root;
    for (const name of path) this.zoomed = this.zoomed.children.get(name) || this.zoomed;
    this.draw();
    this.tell();
  }

  build(bytes) {
    const node = (name, parent) => ({name, parent, bytes: 0, site: -1, siteBytes: 0, children: new Map()});
    const root = node('all', null);
    for (const [site, size] of bytes) {
      root.bytes += size;
      let at = root;
      for (const frame of this.model.sites[site].frames) {
        const name = this.model.frames[frame];
        if (!at.children.has(name)) at.children.set(name, node(name, at));
        at = at.children.get(name);
        at.bytes += size;
        // The colour of who holds most below.
        if (size > at.siteBytes) {
          at.siteBytes = size;
          at.site = site;
        }
      }
    }
    return root;
  }

  pathOf(node) {
    const path = [];
    for (; node.parent; node = node.parent) path.unshift(node.name);
    return path;
  }

  zoom(node) {
    this.zoomed = node;
    byId('flame-up').disabled = !node.parent;
    this.draw();
    this.tell();
  }

  out() {
    if (this.zoomed && this.zoomed.parent) this.zoom(this.root);
  }

  key(event) {
    const children = [...this.zoomed.children.values()].sort((a, b) => b.bytes - a.bytes);
    const siblings = this.zoomed.parent ? [...this.zoomed.parent.children.values()].sort((a, b) => b.bytes - a.bytes) : [];
    const place = siblings.indexOf(this.zoomed);
    if ((event.key === 'Enter' || event.key === 'ArrowDown') && children.length) this.zoom(children[0]);
    else if (event.key === 'ArrowUp' && this.zoomed.parent) this.zoom(this.zoomed.parent);
    else if (event.key === 'ArrowRight' && siblings[place + 1]) this.zoom(siblings[place + 1]);
    else if (event.key === 'ArrowLeft' && siblings[place - 1]) this.zoom(siblings[place - 1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  draw() {
    if (!this.root || this.canvas.clientWidth === 0) return;
    // As deep as what is wide enough to be read.
    const depthOf = (node, width) => width < 6 ? 0 : 1 + Math.max(0, ...[...node.children.values()].map(
        (child) => depthOf(child, child.bytes / Math.max(1, node.bytes) * width)));
    const above = this.pathOf(this.zoomed).length;
    const lines = Math.min(60, above + depthOf(this.zoomed, this.canvas.clientWidth));
    const lineHeight = 22;
    this.canvas.style.height = `${Math.max(3, lines) * lineHeight}px`;
    const {pen, width} = prepare(this.canvas);
    this.cells = [];
    const place = (node, left, across, line) => {  // `across` pixels wide
      if (across < 0.7 || line >= lines) return;
      this.cells.push({node, left, top: line * lineHeight, width: across, height: lineHeight - 1});
      let at = left;
      for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
        const share = child.bytes / node.bytes * across;
        place(child, at, share, line + 1);
        at += share;
      }
    };
    let line = 0;
    for (let node = this.zoomed.parent, path = []; node; node = node.parent) {
      path.unshift(node);
      if (!node.parent) for (const one of path) this.cells.push({node: one, left: 0, top: line++ * lineHeight, width, height: lineHeight - 1, faint: true});
    }
    place(this.zoomed, 0, width, line);
    pen.textBaseline = 'middle';
    pen.textAlign = 'left';
    for (const cell of this.cells) this.drawCell(pen, cell);
  }

  drawCell(pen, cell) {
    pen.globalAlpha = cell.faint ? 0.35 : this.hover && this.hover.node === cell.node ? 1 : 0.78;
    pen.fillStyle = cell.node.site < 0 ? theme.get('--reserved') : this.model.colour(cell.node.site);
    pen.fillRect(cell.left, cell.top, Math.max(0.5, cell.width - 1), cell.height);
    pen.globalAlpha = 1;
    if (cell.width < 34) return;
    pen.save();
    pen.beginPath();
    pen.rect(cell.left, cell.top, cell.width - 4, cell.height);
    pen.clip();
    pen.fillStyle = cell.faint ? theme.get('--ink') : '#101418';
    const text = cell.node === this.root ? `all, ${bytesText(this.root.bytes)}` : cell.node.name;
    pen.fillText(text, cell.left + 5, cell.top + cell.height / 2 + 0.5);
    pen.restore();
  }

  cellAt(event) {
    return (this.cells || []).find((cell) => event.offsetX >= cell.left && event.offsetX < cell.left + cell.width &&
        event.offsetY >= cell.top && event.offsetY < cell.top + cell.height) || null;
  }

  words(cell) {
    const node = cell.node;
    return `${node.name}: ${bytesText(node.bytes)}, ${shareText(node.bytes, this.root.bytes)} of ${this.atPeak ? 'the peak' : 'this moment'}`;
  }

  tell() {
    const line = byId('flame-readout');
    line.textContent = this.zoomed === this.root ? `${bytesText(this.root.bytes)} in all; click a frame to look closer.` : this.words({node: this.zoomed});
    line.dataset.bytes = this.zoomed.bytes;
    line.dataset.total = this.root.bytes;
    byId('flame-up').disabled = !this.zoomed.parent;
  }
}
