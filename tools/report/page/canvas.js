// Helpers that all pictures share: colours, a canvas in device pixels, and a tooltip beside the
// pointer.

// The page's colours, read from its style.
const theme = {
  colours: new Map(),
  get(name) {
    if (!this.colours.has(name)) {
      this.colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    }
    return this.colours.get(name);
  },
  forget() { this.colours.clear(); },
};

// Sets the canvas to its displayed size in device pixels.
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  return {pen, width, height};
}

// Draws a picture only when it is visible. A picture further down on the page is drawn when the
// reader scrolls to it.
class InSight {
  constructor(canvas, draw) {
    this.draw = draw;
    this.seen = false;
    this.waits = false;
    new IntersectionObserver(([entry]) => {
      this.seen = entry.isIntersecting;
      if (this.seen && this.waits) this.now();
    }, {rootMargin: '300px'}).observe(canvas);
  }

  ask() {
    if (this.seen) this.now();
    else this.waits = true;
  }

  now() {
    this.waits = false;
    this.draw();
  }

  // Draws the picture now if its drawing was postponed. Must be called before the picture is used,
  // because it may just have become visible.
  settle() {
    if (this.waits) this.now();
  }
}

const tip = {
  show(text, x, y) {
    const box = byId('tip');
    box.textContent = text;
    box.hidden = false;
    this.place(x, y);
  },
  place(x, y) {
    const box = byId('tip');
    const left = Math.min(x + 14, window.innerWidth - box.offsetWidth - 8);
    const below = y + 18 + box.offsetHeight < window.innerHeight;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? y + 18 : y - box.offsetHeight - 10}px`;
  },
  // Shows a heading, rows that each have a colour, and additional text.
  list(title, rows, more, x, y) {
    this.show('', x, y);
    byId('tip').replaceChildren(element('b', {}, title), element('span', {class: 'rows'}, ...rows.flatMap((row) => [
      element('i', {style: `background:${row.colour}`}),
      element('span', {class: row.lit ? 'name lit' : 'name'}, row.name),
      element('span', {class: row.lit ? 'n lit' : 'n'}, row.value)])), ...(more ? [element('small', {}, more)] : []));
    this.place(x, y);
  },
  hide() { byId('tip').hidden = true; },
};
