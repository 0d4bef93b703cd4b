// The flame graph: bytes by call stack. Callers are above the functions that they called. If the
// graph is inverted, the allocating function is at the top, and its callers are below it. Frames of
// libraries are hidden by default.
class Flame {
  constructor(view) {
    this.view = view;
    this.canvas = byId('flame');
    this.atPeak = true;
    this.inverted = false;
    this.withLibraries = false;
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
      if (cell && cell.node.parent) this.showSites(cell.node);
    });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    byId('flame-up').addEventListener('click', () => this.zoom(this.zoomed.parent || this.root));
    byId('flame-peak').addEventListener('click', () => this.choose(true));
    byId('flame-cursor').addEventListener('click', () => this.choose(false));
    byId('flame-inverted').addEventListener('click', () => this.turn());
    byId('flame-libraries').addEventListener('click', () => {
      this.withLibraries = !this.withLibraries;
      byId('flame-libraries').setAttribute('aria-pressed', String(this.withLibraries));
      this.zoomed = null;
      this.update();
    });
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

  turn() {
    this.inverted = !this.inverted;
    byId('flame-inverted').setAttribute('aria-pressed', String(this.inverted));
    this.zoomed = null;
    this.update();
  }

  showSites(node, focus) {
    const sites = [];
    // A stack may be deeper than this function could recurse.
    const left = [node];
    while (left.length) {
      const one = left.pop();
      for (const site of one.sites) sites.push(site);
      for (const child of [...one.children.values()].reverse()) left.push(child);
    }
    if (sites.length) this.view.details.showSites(node.name, [...new Set(sites)], focus);
  }

  update() {
    const {event, matches} = this.view;
    const bytes = !this.atPeak ? this.model.sitesAt(event, matches) : matches ? this.model.sitesAt(this.model.peakEvent, matches) : this.model.sitesAtPeak();
    byId('flame-panel').hidden = this.model.sites.length < 2;
    const path = this.zoomed ? this.pathOf(this.zoomed) : [];
    this.root = this.build(bytes);
    this.zoomed = this.root;
    for (const name of path) this.zoomed = this.zoomed.children.get(name) || this.zoomed;
    this.draw();
    this.tell();
  }

  // Returns the program's own frames and the operation. If the stack has no frame of the program,
  // returns all frames.
  framesOf(site) {
    const {frames} = this.model.sites[site];
    const last = frames[frames.length - 1];
    let shown = frames;
    if (!this.withLibraries && frames.some((frame) => this.model.ownFrames.has(frame))) {
      shown = frames.filter((frame) => this.model.ownFrames.has(frame) || frame === last);
    }
    return this.inverted ? [...shown].reverse() : shown;
  }

  build(bytes) {
    const node = (name, parent, frame) => ({name, parent, frame, bytes: 0, sites: [], site: -1, siteBytes: 0, children: new Map()});
    const root = node('all', null);
    for (const [site, size] of bytes) {
      root.bytes += size;
      let at = root;
      for (const frame of this.framesOf(site)) {
        const name = this.model.frames[frame];
        if (!at.children.has(name)) at.children.set(name, node(name, at, frame));
        at = at.children.get(name);
        at.bytes += size;
        // A frame has the colour of the call site that holds most memory below this frame.
        if (size > at.siteBytes) {
          at.siteBytes = size;
          at.site = site;
        }
      }
      at.sites.push(site);
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
    if (event.key === 'Enter' && this.zoomed.parent && !children.length) this.showSites(this.zoomed, true);
    else if ((event.key === 'Enter' || event.key === 'ArrowDown') && children.length) this.zoom(children[0]);
    else if (event.key === 'ArrowUp' && this.zoomed.parent) this.zoom(this.zoomed.parent);
    else if (event.key === 'ArrowRight' && siblings[place + 1]) this.zoom(siblings[place + 1]);
    else if (event.key === 'ArrowLeft' && siblings[place - 1]) this.zoom(siblings[place - 1]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  draw() {
    if (!this.root || this.canvas.clientWidth === 0) return;
    const most = 60;
    // Returns how many levels of nodes, from `node` on, are wide enough to be read, at most `left`.
    const depthOf = (node, width, left) => {
      if (width < 6 || left <= 0) return 0;
      let below = 0;
      for (const child of node.children.values()) {
        below = Math.max(below, depthOf(child, child.bytes / Math.max(1, node.bytes) * width, left - 1));
      }
      return 1 + below;
    };
    const above = this.pathOf(this.zoomed).length;
    const lines = Math.min(most, above + depthOf(this.zoomed, this.canvas.clientWidth, most));
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
    pen.fillStyle = this.colourOf(cell.node);
    pen.fillRect(cell.left, cell.top, Math.max(0.5, cell.width - 1), cell.height);
    pen.globalAlpha = 1;
    if (cell.width < 34) return;
    pen.save();
    pen.beginPath();
    pen.rect(cell.left, cell.top, cell.width - 4, cell.height);
    pen.clip();
    pen.fillStyle = cell.faint ? theme.get('--ink') : theme.get('--flame-ink');
    const text = cell.node === this.root ? `all, ${bytesText(this.root.bytes)}` : this.fitting(pen, cell.node.name, cell.width - 8);
    pen.fillText(text, cell.left + 5, cell.top + cell.height / 2 + 0.5);
    pen.restore();
  }

  // Returns the name, shortened so that the function remains if there is no room for "file.py:12
  // function".
  fitting(pen, name, width) {
    const parts = /^[^ ]*:(\d+) (.+)$/.exec(name);
    return parts && pen.measureText(name).width > width ? `${parts[2]}:${parts[1]}` : name;
  }

  // Returns the colour of a frame: a warm one for the program, and a cold one for libraries. Each
  // name has its own shade.
  colourOf(node) {
    if (!node.parent) return theme.get('--reserved');
    const shades = this.model.ownFrames.has(node.frame) ? 'own' : 'library';
    return theme.get(`--flame-${shades}-${[...node.name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, 7) % 4}`);
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
    line.textContent = this.zoomed === this.root ? `${bytesText(this.root.bytes)} in all; click a frame to look closer.${this.inverted ? ' What allocated stands above, who called it below.' : ''}` : this.words({node: this.zoomed});
    line.dataset.bytes = this.zoomed.bytes;
    line.dataset.total = this.root.bytes;
    byId('flame-up').disabled = !this.zoomed.parent;
  }
}
