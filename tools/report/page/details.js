// The panel at the side. It shows all that is known about a block, a source line, or a part of the
// memory.
class Details {
  constructor(view) {
    this.view = view;
    this.box = byId('side');
    byId('details-close').addEventListener('click', () => this.close());
  }

  get isOpen() { return !this.box.hidden; }

  open(title, focus, ...children) {
    byId('details-title').textContent = title;
    byId('details-body').replaceChildren(...children.filter((child) => child));
    const wasOpen = this.isOpen;
    this.box.hidden = false;
    document.body.classList.add('with-details');
    this.box.scrollTop = 0;
    if (!wasOpen) this.view.redraw();
    if (focus) {
      this.before = this.before || document.activeElement;
      byId('details-close').focus();
    }
  }

  close() {
    if (!this.isOpen) return;
    this.box.hidden = true;
    document.body.classList.remove('with-details');
    this.view.lit = null;
    this.view.redraw();
    if (this.before) this.before.focus();
    this.before = null;
  }

  rows(...rows) {
    return element('dl', {}, ...rows.filter((row) => row && row[1]).map(([name, ...values]) =>
      element('div', {}, element('dt', {}, name), element('dd', {}, ...values))));
  }

  showBlock(block, focus) {
    const {model} = this.view;
    const site = model.sites[block.site];
    const held = model.holders.get(block.number);
    const freed = model.uses.freed_at[block.number];
    const until = block.lifeTime === Infinity ? 'live at the end' : `for ${timeText(block.lifeTime)}, ${counted(block.death - block.birth, 'event')}`;
    this.open(`Block of ${bytesText(block.size)}`, focus, this.rows(
        held ? ['Held by', element('code', {}, held.holder)] : null,
        held && held.about ? ['Is', held.about] : null,
        ['For', model.hasUses ? model.categoryOf(block.number).replaceAll('_', ' ') : ''],
        ['Made at', element('code', {}, site.site)],
        ['By', site.operation], ['In module', site.module], ['Phase', site.phase === 'unknown' ? '' : site.phase],
        ['Lived', `from ${timeText(block.birthTime)} (event ${countText(block.birth - model.opening)}), ${until}`],
        ['Freed at', freed ? element('code', {}, model.sites[freed].site) : ''],
        ['Address', element('code', {}, `0x${block.address.toString(16)}`)],
        ['Size', `${countText(block.size)} bytes`],
        ['Alike', this.alike(block.site)]), stackElement(model, block.site));
  }

  // Returns the number and the bytes of the blocks of this call site at this moment, as a text. The
  // text is empty if there is only one block.
  alike(site) {
    const {model, event} = this.view;
    const alive = model.aliveAt(event).filter((i) => model.blocks.site[i] === site);
    if (alive.length < 2) return '';
    return `${counted(alive.length, 'block')} of this call stack at this moment, ${bytesText(alive.reduce((sum, i) => sum + model.blocks.size[i], 0))}`;
  }

  // Shows the call sites of a row of a table, or of a frame of the flame graph.
  showSites(title, sites, focus) {
    const {model, event} = this.view;
    const wanted = new Set(sites);
    const alive = model.aliveAt(event).filter((i) => wanted.has(model.blocks.site[i]));
    const most = [...sites].sort((a, b) => model.sites[b].peak - model.sites[a].peak)[0];
    const peak = sites.reduce((sum, site) => sum + model.sites[site].peak, 0);
    this.open(title, focus, this.rows(
        ['At the peak', bytesText(peak)],
        ['At this moment', `${bytesText(alive.reduce((sum, i) => sum + model.blocks.size[i], 0))} in ${counted(alive.length, 'block')}`],
        ['Operation', model.sites[most].operation], ['In module', model.sites[most].module]),
    this.blockTable(alive), stackElement(model, most));
  }

  // Shows the group of blocks behind a stacked area, at this moment.
  showGroup(stack, group, focus) {
    const {model, event} = this.view;
    if (group >= 0 && !stack.grouping.names) return this.showBlock(model.blocks.life(group), focus);
    const named = new Set(stack.groups);
    const inGroup = (i) => group >= 0 ? stack.grouping.of[i] === group : !named.has(stack.grouping.of[i]);
    const alive = model.aliveAt(event).filter(inGroup);
    const bytes = alive.reduce((sum, i) => sum + model.blocks.size[i], 0);
    const bySite = new Map();
    for (const i of alive) bySite.set(model.blocks.site[i], (bySite.get(model.blocks.site[i]) || 0) + model.blocks.size[i]);
    const [most] = [...bySite].sort((a, b) => b[1] - a[1])[0] || [];
    this.open(stack.nameOf(group), focus, this.rows(
        ['At this moment', `${bytesText(bytes)} in ${counted(alive.length, 'block')}, ${shareText(bytes, model.levelsAt(event).allocated)} of what is allocated`],
        ['Moment', `${timeText(model.levelsAt(event).time)}, event ${countText(event - model.opening)}`]),
    this.blockTable(alive),
    most === undefined ? null : element('h3', {}, `The line that holds most of it: ${bytesText(bySite.get(most))}`),
    most === undefined ? null : stackElement(model, most));
  }

  blockTable(blocks) {
    if (!blocks.length) return null;
    const {model} = this.view;
    const largest = blocks.sort((a, b) => model.blocks.size[b] - model.blocks.size[a]).slice(0, 200);
    return table([
      {title: 'Size', kind: 'n', cell: (i) => bytesText(model.blocks.size[i]), by: (i) => model.blocks.size[i]},
      {title: 'Who', cell: (i) => model.nameOfBlock(i)},
      {title: 'Since', kind: 'n', cell: (i) => timeText(model.blocks.birthTime[i]), by: (i) => model.blocks.birthTime[i]},
    ], largest, {most: 6, name: 'Blocks', click: (i) => this.view.keep(model.blocks.life(i), true)});
  }
}
