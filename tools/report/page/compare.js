// Compares two traces: their timelines at one scale, their figures, and the differences at their
// peaks.
class Comparison {
  constructor(view) {
    this.view = view;
    byId('compare-panel').hidden = view.models.length < 2 || !!view.set.rank_comparison;
    if (byId('compare-panel').hidden) return;
    this.chosen = [0, 1];
    this.selects = ['compare-a', 'compare-b'].map((id, side) => {
      const select = byId(id);
      select.replaceChildren(...view.names.map((name, i) => element('option', {value: i}, name)));
      select.value = this.chosen[side];
      select.addEventListener('change', () => {
        this.chosen[side] = Number(select.value);
        this.update();
      });
      return select;
    });
  }

  get isShown() { return !!this.chosen; }
  get models() { return this.chosen.map((i) => this.view.models[i]); }

  update() {
    if (!this.isShown) return;
    byId('compare-figures').replaceChildren(this.figures());
    byId('compare-differences').replaceChildren(this.differences());
    this.draw();
  }

  figures() {
    const at = (path) => (facts) => path.split('.').reduce((value, key) => value === null || value === undefined ? value : value[key], facts);
    const rows = [['Peak allocated', 'peak.allocated_bytes', bytesText], ['Peak reserved', 'peak.reserved_bytes', bytesText],
      ['Peak requested', 'peak.requested_bytes', bytesText], ['Free but too small, at the peak', 'fragmentation.unusable_bytes_at_peak', bytesText],
      ['Allocations', 'counts.allocations', countText], ['Out of memory', 'counts.out_of_memory', countText],
      ['Iterations', 'iterations_found.count', countText], ['Duration', 'input.duration_ns', timeText]];
    const values = rows.map(([name, path, text]) => ({name, text, of: this.models.map((model) => at(path)(model.facts))}))
        .filter((row) => row.of.every((value) => value !== null && value !== undefined));
    const signed = (row, by) => by > 0 ? `+${row.text(by)}` : by < 0 ? `−${row.text(-by)}` : '0';
    return table([
      {title: '', kind: '', cell: (row) => row.name},
      {title: 'A', kind: 'n', cell: (row) => row.text(row.of[0]), by: (row) => row.of[0]},
      {title: 'B', kind: 'n', cell: (row) => row.text(row.of[1]), by: (row) => row.of[1]},
      {title: 'B less A', kind: 'n', cell: (row) => signed(row, row.of[1] - row.of[0]), by: (row) => row.of[1] - row.of[0]},
    ], values, {name: 'Figures of both traces'});
  }

  // Lists the differences by the timeline's grouping. If the timeline shows single blocks, source
  // lines are compared, because single blocks cannot be compared.
  differences() {
    const kind = this.view.grouping.kind === 'tensor' ? 'line' : this.view.grouping.kind;
    const sums = new Map();
    this.models.forEach((model, side) => {
      const grouping = model === this.view.model && this.view.grouping.kind === kind ? this.view.grouping : this.view.groupingOf(model, kind);
      for (const i of model.aliveAt(model.peakEvent)) {
        const name = grouping.nameOf(grouping.of[i]);
        if (!sums.has(name)) sums.set(name, [0, 0]);
        sums.get(name)[side] += model.blocks.size[i];
      }
    });
    const rows = [...sums].map(([name, of]) => ({name, of, by: of[1] - of[0]})).sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
    return table([
      {title: `${Grouping.titles[kind]}, at the peaks`, kind: 'wide', cell: (row) => row.name},
      {title: 'A', kind: 'n', cell: (row) => bytesText(row.of[0]), by: (row) => row.of[0]},
      {title: 'B', kind: 'n', cell: (row) => bytesText(row.of[1]), by: (row) => row.of[1]},
      {title: 'B less A', kind: 'n', cell: (row) => row.by > 0 ? `+${bytesText(row.by)}` : bytesText(row.by), by: (row) => row.by},
    ], rows, {name: 'Differences at the peaks'});
  }

  draw() {
    if (!this.isShown) return;
    const kind = this.view.grouping.kind;
    const highest = niceBytes(Math.max(...this.models.map((model) => Math.max(model.facts.peak.allocated_bytes, model.facts.peak.reserved_bytes || 0))));
    // A name has the same colour on both sides.
    const groupings = this.models.map((model) => this.view.groupingOf(model, kind === 'tensor' ? 'line' : kind));
    const shown = new Map();
    this.models.forEach((model, side) => {
      const canvas = byId(side ? 'compare-map-b' : 'compare-map-a');
      if (canvas.clientWidth === 0) return;
      const {pen, width, height} = prepare(canvas);
      const area = {left: 60, top: 8, width: width - 64, height: height - 30};
      drawLevelGrid(pen, area, highest);
      const axis = new Axis(model, model.time[model.steps - 1] > 0 ? 'folded' : 'event');
      const grouping = side ? withColoursOf(groupings[1], groupings[0]) : groupings[0];
      const stack = new Stack(grouping, axis, axis.begin, axis.end, Math.max(1, Math.floor(area.width)), null);
      stack.draw(pen, area, highest);
      stack.groups.forEach((group) => shown.set(grouping.names[group], grouping.colours[group]));
      if (model.reserved) drawCurve(pen, area, axis, model, model.reserved, theme.get('--reserved'), [], axis.begin, axis.end, highest);
      pen.fillStyle = theme.get('--quiet');
      pen.textBaseline = 'alphabetic';
      pen.textAlign = 'left';
      const end = axis.isTime ? timeText(model.time[model.steps - 1]) : counted(model.facts.input.events, 'event');
      pen.fillText(`${side ? 'B' : 'A'}: ${bytesText(model.facts.peak.allocated_bytes)} at the peak; ${end} in all`, area.left, height - 6);
    });
    byId('compare-legend').replaceChildren(...[...shown].map(([name, colour]) => element('span', {}, element('i', {style: `background:var(${colour})`}), name)));
  }
}

// Returns the grouping with colours of the other grouping for the names that both groupings have.
function withColoursOf(grouping, other) {
  const known = new Map(other.names.map((name, i) => [name, other.colours[i]]));
  const made = Object.create(grouping);
  made.colours = grouping.names.map((name, i) => known.get(name) || grouping.colours[i]);
  return made;
}
