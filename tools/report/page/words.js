// These functions format numbers in the same way as the text report.
function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return 'unknown';
  if (bytes < 0) return '−' + bytesText(-bytes);
  if (bytes < 1024) return `${bytes} B`;
  const names = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 999.5 && unit + 1 < names.length) {
    value /= 1024;
    ++unit;
  }
  const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  const scale = 10 ** decimals;
  return `${(Math.floor(value * scale + 0.5) / scale).toFixed(decimals)} ${names[unit]}`;
}

function countText(count) {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

function counted(count, noun) {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function timeText(nanoseconds) {
  if (nanoseconds < 1000) return `${Math.round(nanoseconds)} ns`;
  for (const [size, until, name] of [[1e3, 1e6, 'us'], [1e6, 1e9, 'ms'], [1e9, 120e9, 's']]) {
    if (nanoseconds >= until) continue;
    const value = nanoseconds / size;
    return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${name}`;
  }
  const seconds = Math.floor(nanoseconds / 1e9);
  const two = (number) => String(number).padStart(2, '0');
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`;
}

function shareText(part, whole) {
  if (!whole || !part) return '0%';
  const percent = 100 * part / whole;
  if (percent < 1) return '<1%';
  return `${Math.round(part < whole && percent > 99 ? 99 : percent)}%`;
}

// Makes an HTML element with these attributes and children. A child may be a text.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') made.className = value;
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

// Makes an element for a plain number of the facts. The element has the number's path in the JSON,
// so that the number can be checked.
function figure(fact, value, text) {
  return element('span', {'data-fact': fact, 'data-value': value === null ? 'null' : String(value)}, text);
}
