// A table that can be sorted by its columns. It shows its first rows until all are requested, and
// hides rows that do not match the search. A column is {title, kind: 'n' for numbers, cell: row →
// content, by: row → sort key}.
const tables = new Set();

function table(columns, rows, options = {}) {
  const made = new Table(columns, rows, options);
  return made.box;
}

class Table {
  constructor(columns, rows, options) {
    this.columns = columns;
    this.options = options;
    this.most = options.most || 12;
    this.sorted = null;
    this.body = element('tbody', {});
    this.heads = columns.map((column, i) => this.head(column, i, rows.length > 1));
    this.more = element('button', {type: 'button', class: 'more', onclick: () => this.showAll()});
    this.scroll = element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': options.name || 'Table'},
        element('table', {}, element('thead', {}, element('tr', {}, ...this.heads)), this.body));
    this.box = element('div', {class: 'table'}, this.scroll, this.more);
    // The search compares its words with the text that a reader sees in the row.
    this.rows = rows.map((row, i) => {
      const line = this.line(row, i);
      return {row, line, text: line.textContent.toLowerCase()};
    });
    this.box.table = this;
    tables.add(this);
    this.fill();
  }

  head(column, i, sorts) {
    const {title, kind} = column;
    if (!title) return element('td', {class: kind});
    if (!sorts) return element('th', {class: kind, scope: 'col'}, title);
    return element('th', {class: kind, scope: 'col', 'aria-sort': 'none'},
        element('button', {type: 'button', onclick: () => this.sortBy(i)}, title));
  }

  line(row, i) {
    const cells = this.columns.map(({kind, cell}) => element('td', {class: kind}, ...[cell(row, i)].flat()));
    if (!this.options.click) return element('tr', {}, ...cells);
    const act = (event) => this.options.click(row, event.type === 'keydown');
    return element('tr', {class: 'link', tabindex: 0, onclick: act,
      onkeydown: (event) => {
        if (event.key === 'Enter') act(event);
        const next = event.key === 'ArrowDown' ? event.currentTarget.nextSibling : event.key === 'ArrowUp' ? event.currentTarget.previousSibling : null;
        if (!next) return;
        next.focus();
        event.preventDefault();
        event.stopPropagation();
      }}, ...cells);
  }

  // Sorts the table by a column. At first numbers are sorted in descending order, and words in
  // ascending order. A second click reverses the order.
  sortBy(column) {
    const falls = this.columns[column].kind === 'n';
    this.sorted = this.sorted && this.sorted.column === column ? {column, falls: !this.sorted.falls} : {column, falls};
    this.heads.forEach((head, i) => {
      if (head.hasAttribute('aria-sort')) head.setAttribute('aria-sort', i !== column ? 'none' : this.sorted.falls ? 'descending' : 'ascending');
    });
    this.fill();
  }

  keyOf(entry, column) {
    const {by} = this.columns[column];
    if (by) return by(entry.row);
    const text = entry.line.children[column].textContent;
    return this.columns[column].kind === 'n' ? bytesOrCount(text) : text.toLowerCase();
  }

  filter(words) {
    this.words = words;
    this.fill();
    return words.length ? this.wanted.length : 0;
  }

  showAll() {
    this.all = true;
    this.fill();
  }

  fill() {
    this.wanted = this.rows.filter((entry) => (this.words || []).every((word) => entry.text.includes(word)));
    if (this.sorted) {
      const {column, falls} = this.sorted;
      const keys = new Map(this.wanted.map((entry) => [entry, this.keyOf(entry, column)]));
      const order = (a, b) => keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0;
      this.wanted.sort((a, b) => falls ? order(b, a) : order(a, b));
    }
    const shown = this.all ? this.wanted : this.wanted.slice(0, this.most);
    this.body.replaceChildren(...shown.map((entry) => entry.line));
    if (!shown.length) this.body.append(element('tr', {}, element('td', {colspan: this.columns.length, class: 'quiet'}, 'No row has these words.')));
    this.more.hidden = shown.length === this.wanted.length;
    this.more.textContent = `Show all ${countText(this.wanted.length)}`;
  }
}

// Returns the number that a cell's text stands for: "1.5 MiB", "2.3 s", "1,234", "−5".
function bytesOrCount(text) {
  const match = /^([+−-]?)([\d.,]+)\s*([A-Za-z]+)?/.exec(text.trim());
  if (!match) return -Infinity;
  const scales = {KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12};
  const value = Number(match[2].replaceAll(',', '')) * (scales[match[3]] || 1);
  return match[1] === '−' || match[1] === '-' ? -value : value;
}
