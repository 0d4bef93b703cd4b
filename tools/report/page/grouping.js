// The grouping of blocks that the reader of the page chooses: by purpose, by module, by source
// line, or no grouping, so that each block is shown by itself.
class Grouping {
  static kinds = ['category', 'module', 'line', 'tensor'];
  static titles = {category: 'Category', module: 'Module', line: 'Line', tensor: 'Tensor'};

  // True if the trace has enough data for this kind of grouping to be useful.
  static isKnown(model, kind) {
    if (kind === 'category') return model.uses.names.some((name) => name !== 'unknown');
    if (kind === 'module') return model.sites.some((site) => site.module);
    return model.blocks.length > 0;
  }

  // Returns the first kind of grouping that distinguishes at least two groups.
  static bestOf(model) {
    return ['category', 'line'].find((kind) => Grouping.isKnown(model, kind)) || 'line';
  }

  constructor(model, kind) {
    this.model = model;
    this.kind = kind;
    this.names = [];
    this.of = new Int32Array(model.blocks.length);
    if (kind === 'tensor') this.eachAlone();
    else this.byName(kind);
    this.colourGroups();
  }

  byName(kind) {
    const numbers = new Map();
    const numberOf = (name) => {
      if (!numbers.has(name)) {
        numbers.set(name, this.names.length);
        this.names.push(name);
      }
      return numbers.get(name);
    };
    const {model} = this;
    const nameOf = kind === 'module' ? (site) => withoutNumbers(model.sites[site].module) || 'no module' : (site) => model.sites[site].site;
    const ofSite = kind === 'category' ? null : model.sites.map((_, site) => numberOf(nameOf(site)));
    for (let i = 0; i < this.of.length; ++i) {
      this.of[i] = ofSite ? ofSite[model.blocks.site[i]] : numberOf(model.categoryOf(i).replaceAll('_', ' '));
    }
  }

  eachAlone() {
    for (let i = 0; i < this.of.length; ++i) this.of[i] = i;
    this.names = null;
  }

  nameOf(group) { return this.names ? this.names[group] : this.model.nameOfBlock(group); }

  // Assigns colours, in order, to the groups that hold most memory for the longest time. The other
  // groups are grey. A group that has a fixed colour, as purposes have, keeps this colour.
  colourGroups() {
    const {size, birth, death} = this.model.blocks;
    const end = this.model.lastEvent + 1;
    if (!this.names) {
      this.byCategory = new Map(this.model.uses.names.map((name, i) => [i, colourOfCategory(name) || `--series-${i % 12}`]));
      return;
    }
    const areas = new Float64Array(this.names.length);
    for (let i = 0; i < this.of.length; ++i) areas[this.of[i]] += size[i] * (Math.min(death[i], end) - birth[i]);
    this.order = [...areas.keys()].sort((a, b) => areas[b] - areas[a]);
    this.colours = [];
    let next = 0;
    for (const group of this.order) {
      const fixed = this.kind === 'category' ? colourOfCategory(this.names[group]) : null;
      this.colours[group] = fixed || (next < 12 ? `--series-${next++}` : '--series-rest');
    }
  }

  colourOf(group) {
    if (this.names) return theme.get(this.colours[group]);
    const known = this.model.hasUses ? this.byCategory.get(this.model.uses.of[group]) : `--series-${this.model.blocks.site[group] % 12}`;
    return theme.get(known);
  }

  colourOfBlock(block) { return this.colourOf(this.of[block]); }
}

function colourOfCategory(name) {
  const own = ['parameters', 'gradients', 'optimizer_state', 'activations', 'temporaries', 'inputs', 'workspaces', 'caches', 'kept'];
  const plain = name.replaceAll(' ', '_');
  return own.includes(plain) ? `--use-${plain.replaceAll('_', '-')}` : plain === 'unknown' ? '--series-rest' : null;
}

// Replaces numbers in a module's name, so that "blocks.3.up" and "blocks.4.up" become
// "blocks.*.up".
function withoutNumbers(module) {
  return module.replace(/(^|\.)\d+(?=\.|$)/g, '$1*');
}
