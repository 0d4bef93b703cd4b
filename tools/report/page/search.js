// The search of the page. It finds the blocks, areas, frames and rows whose text contains all words
// of the query.
class Search {
  constructor(view) {
    this.view = view;
    this.input = byId('search');
    this.words = [];
    let waiting = null;
    this.input.addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.run(), 120);
    });
    this.input.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key === 'Escape') this.clear();
      if (event.key === 'Enter') this.run();
    });
    byId('search-clear').addEventListener('click', () => this.clear());
  }

  focus() { this.input.focus(); }

  clear() {
    this.input.value = '';
    this.run();
    this.input.blur();
  }

  run() {
    this.words = this.input.value.toLowerCase().split(/\s+/).filter((word) => word);
    this.apply();
  }

  // Repeats the search, because the tables or the shown process have changed.
  apply() {
    const {view, words} = this;
    view.matches = words.length ? this.blocksOf(view.model, words) : null;
    let rows = 0;
    for (const one of tables) {
      if (one.box.isConnected) rows += one.filter(words);
      else tables.delete(one);
    }
    byId('search-clear').hidden = words.length === 0;
    byId('found').hidden = words.length === 0;
    if (words.length) this.tell(rows);
    view.searched();
  }

  tell(rows) {
    const {model, matches, event} = this.view;
    const all = matches.reduce((sum, one) => sum + one, 0);
    const alive = model.aliveAt(event).filter((i) => matches[i]);
    const bytes = alive.reduce((sum, i) => sum + model.blocks.size[i], 0);
    byId('found').textContent = `${counted(all, 'block')}, ${bytesText(bytes)} of them live at this moment; ${counted(rows, 'row')} of tables`;
  }

  // Returns the blocks that match all words of the query. Each word has a bit, which is set for a
  // block if the text of its call site, purpose or owner contains the word.
  blocksOf(model, words) {
    const wanted = words.slice(0, 30);
    const full = 2 ** wanted.length - 1;
    const bitsOf = (text) => wanted.reduce((bits, word, i) => text.includes(word) ? bits | (1 << i) : bits, 0);
    const sites = model.sites.map((site) => bitsOf([site.site, site.operation, site.module, site.phase,
      ...site.frames.map((frame) => model.frames[frame])].join(' ').toLowerCase()));
    const uses = model.uses.names.map((name) => bitsOf(`${name} ${name.replaceAll('_', ' ')}`));
    const matches = new Uint8Array(model.blocks.length);
    for (let i = 0; i < matches.length; ++i) {
      let bits = sites[model.blocks.site[i]] | (uses[model.uses.of[i]] || 0);
      const held = model.holders.get(i);
      if (bits !== full && held) bits |= bitsOf(`${held.holder} ${held.about} ${held.role}`.toLowerCase());
      matches[i] = bits === full ? 1 : 0;
    }
    return matches;
  }
}
