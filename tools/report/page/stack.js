// Memory as stacked areas. Each column of pixels has the bytes of each group at the moment of the
// column's highest level.
const MOST_GROUPS = 12;
const MOST_TENSORS = 300;

class Stack {
  // Makes the areas for the part of `axis` between `from` and `to`, in `columns` columns. `matches`
  // says which blocks are shown; null means all.
  constructor(grouping, axis, from, to, columns, matches) {
    this.grouping = grouping;
    this.model = grouping.model;
    this.columns = columns;
    this.sample(axis, from, to);
    this.addUp(matches);
  }

  sample(axis, from, to) {
    const {model, columns} = this;
    this.events = new Float64Array(columns);
    this.levels = new Float64Array(columns);
    let step = Math.max(0, lowerBound(axis.values, from) - 1);
    let event = axis.values[step] > from && step === 0 ? 0 : model.event[step];
    let level = event ? model.allocated[step] : 0;
    for (let column = 0; column < columns; ++column) {
      const until = from + (column + 1) / columns * (to - from);
      let best = -1;
      let last = -1;
      for (; step < model.steps && axis.values[step] <= until; ++step) {
        if (best < 0 || model.allocated[step] > model.allocated[best]) best = step;
        last = step;
      }
      this.events[column] = best < 0 || level > model.allocated[best] ? event : model.event[best];
      this.levels[column] = best < 0 ? level : Math.max(level, model.allocated[best]);
      if (last >= 0) {
        event = model.event[last];
        level = model.allocated[last];
      }
    }
  }

  addUp(matches) {
    const {blocks} = this.model;
    const {columns, grouping} = this;
    const first = new Int32Array(blocks.length);
    const end = new Int32Array(blocks.length);
    const areas = new Map();
    for (let i = 0; i < blocks.length; ++i) {
      if (blocks.pending[i] || (matches && !matches[i])) continue;
      first[i] = lowerBound(this.events, blocks.birth[i]);
      end[i] = blocks.death[i] === Infinity ? columns : lowerBound(this.events, blocks.death[i]);
      if (end[i] <= first[i]) continue;
      const group = grouping.of[i];
      areas.set(group, (areas.get(group) || 0) + blocks.size[i] * (end[i] - first[i]));
    }
    const most = grouping.names ? MOST_GROUPS : MOST_TENSORS;
    this.groups = [...areas.keys()].sort((a, b) => areas.get(b) - areas.get(a) || a - b).slice(0, most);
    this.others = areas.size - this.groups.length;
    // If each block is shown by itself, blocks are in order of age, with the oldest at the bottom.
    if (!grouping.names) this.groups.sort((a, b) => a - b);
    const place = new Map(this.groups.map((group, i) => [group, i]));
    this.rows = this.groups.map(() => new Float64Array(columns + 1));
    const rest = new Float64Array(columns + 1);
    for (let i = 0; i < blocks.length; ++i) {
      if (end[i] <= first[i]) continue;
      const row = place.has(grouping.of[i]) ? this.rows[place.get(grouping.of[i])] : rest;
      row[first[i]] += blocks.size[i];
      row[end[i]] -= blocks.size[i];
    }
    for (const row of [...this.rows, rest]) {
      for (let column = 1; column < columns; ++column) row[column] += row[column - 1];
    }
    // The rest is memory of blocks that do not match the search, or that are not in the page.
    for (let column = 0; column < columns; ++column) {
      let known = 0;
      for (const row of this.rows) known += row[column];
      rest[column] = Math.max(0, this.levels[column] - known);
    }
    this.rest = rest;
    this.filtered = !!matches;
  }

  // If a trace has only levels, there are no groups, so the rest is all allocated memory.
  get restColour() { return this.groups.length || this.filtered ? '--series-none' : '--allocated'; }
  get restName() {
    if (!this.groups.length && !this.filtered) return 'allocated';
    if (this.filtered) return 'everything else';
    return this.others > 0 ? `${countText(this.others)} others` : 'not known of each block';
  }

  // Returns the {group, name, bytes} entries of a column, the largest first.
  at(column) {
    const parts = this.groups.map((group, i) => ({group, i, bytes: this.rows[i][column]}));
    parts.push({group: -1, i: -1, bytes: this.rest[column]});
    return parts.filter((part) => part.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  }

  nameOf(group) { return group < 0 ? this.restName : this.grouping.nameOf(group); }
  colourOf(group) { return group < 0 ? theme.get(this.restColour) : this.grouping.colourOf(group); }

  // Returns the group in this column whose area contains `bytes`; null if there is none.
  groupAt(column, bytes) {
    let below = 0;
    for (let i = 0; i < this.groups.length; ++i) {
      below += this.rows[i][column];
      if (bytes < below) return this.groups[i];
    }
    return bytes < below + this.rest[column] ? -1 : null;
  }

  // Draws the areas. `lit` is the highlighted group; undefined if there is none.
  draw(pen, area, highest, lit) {
    const {columns} = this;
    const below = new Float64Array(columns);
    const width = area.width / columns;
    const y = (bytes) => area.top + area.height - bytes / highest * area.height;
    const edge = theme.get('--panel');
    const paint = (row, group) => {
      pen.fillStyle = this.colourOf(group);
      pen.globalAlpha = lit !== undefined && lit !== group ? 0.32 : group < 0 ? 0.75 : 0.92;
      for (let column = 0; column < columns;) {
        if (row[column] <= 0) { ++column; continue; }
        let end = column;
        while (end < columns && row[end] > 0) ++end;
        // Adds a point only where the level changes.
        pen.beginPath();
        for (let i = column; i < end; ++i) {
          const top = below[i] + row[i];
          if (i === column || top !== below[i - 1] + row[i - 1]) pen.lineTo(area.left + i * width, y(top));
          if (i + 1 === end || top !== below[i + 1] + row[i + 1]) pen.lineTo(area.left + (i + 1) * width, y(top));
        }
        for (let i = end - 1; i >= column; --i) {
          if (i + 1 === end || below[i] !== below[i + 1]) pen.lineTo(area.left + (i + 1) * width, y(below[i]));
          if (i === column || below[i] !== below[i - 1]) pen.lineTo(area.left + i * width, y(below[i]));
        }
        pen.closePath();
        pen.fill();
        if (!this.grouping.names && group >= 0) {
          pen.strokeStyle = edge;
          pen.lineWidth = 0.4;
          pen.stroke();
        }
        column = end;
      }
      for (let column = 0; column < columns; ++column) below[column] += row[column];
    };
    this.rows.forEach((row, i) => paint(row, this.groups[i]));
    paint(this.rest, -1);
    pen.globalAlpha = 1;
  }
}
