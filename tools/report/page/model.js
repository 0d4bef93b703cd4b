// One process: its facts, and who lived when and where.
class Model {
  constructor(facts, detail) {
    this.facts = facts;
    this.detail = detail;
    this.sites = detail.sites;
    this.frames = detail.frames;
    this.event = sums(detail.levels.event);
    this.time = sums(detail.levels.time);
    this.allocated = Float64Array.from(detail.levels.allocated);
    this.reserved = detail.levels.reserved ? Float64Array.from(detail.levels.reserved) : null;
    this.requested = Float64Array.from(detail.levels.requested);
    this.blocks = new Lives(detail.blocks);
    this.segments = new Lives(detail.segments);
    this.away = new Lives(detail.away);
    this.peakEvent = detail.peak_event;
    this.lastEvent = Math.max(1, detail.events);
    // The state before the first event of the recording counts as event 0.
    this.firstEvent = Math.max(1, Math.min(detail.first_event - 1, this.lastEvent));
    this.opening = detail.first_event - 1;
    this.iterations = facts.iterations || [];
    this.hasPhases = this.sites.some((site) => site.phase !== 'unknown' && site.phase !== 'workspace');
    this.rank = new Map([...this.sites.keys()].sort((a, b) => this.sites[b].peak - this.sites[a].peak)
        .map((site, rank) => [site, rank]));
  }

  get steps() { return this.event.length; }

  // The step that an event belongs to, and the one that a time does.
  stepOf(event) { return Math.min(this.steps - 1, lowerBound(this.event, event)); }
  stepAtTime(time) { return Math.min(this.steps - 1, lowerBound(this.time, time)); }

  levelsAt(event) {
    const step = this.stepOf(event);
    return {
      step,
      time: this.time[step],
      allocated: this.allocated[step],
      reserved: this.reserved ? this.reserved[step] : null,
      requested: this.requested[step],
    };
  }

  // Bytes by site at an event, of the lives that the report holds.
  sitesAt(event) {
    const bytes = new Map();
    const {birth, death, size, site, pending} = this.blocks;
    for (let i = 0; i < this.blocks.length && birth[i] <= event; ++i) {
      if (death[i] > event && !pending[i]) bytes.set(site[i], (bytes.get(site[i]) || 0) + size[i]);
    }
    return bytes;
  }

  sitesAtPeak() {
    const bytes = new Map();
    this.sites.forEach((site, number) => {
      if (site.peak > 0) bytes.set(number, site.peak);
    });
    return bytes;
  }

  // The memory at an event: ranges in order of address, each with its blocks.
  layoutAt(event) {
    const blocks = this.blocks.at(event).sort((a, b) => a.address - b.address);
    let ranges = this.segments.at(event).sort((a, b) => a.address - b.address)
        .map((segment) => ({from: segment.address, to: segment.address + segment.size, joins: segment.pending, blocks: []}));
    const pooled = ranges.length > 0;
    if (!pooled) {
      ranges = blocks.map((block) => ({from: block.address, to: block.address + block.size, blocks: []}));
    }
    // Paused memory is mapped nowhere; its blocks keep their places.
    const away = this.away.at(event).sort((a, b) => a.address - b.address);
    if (pooled && away.length > 0) {
      const starts = Float64Array.from(ranges, (range) => range.from);
      const covered = (one) => {
        const place = lowerBound(starts, one.address + one.size) - 1;
        return place >= 0 && ranges[place].to > one.address;
      };
      const paused = away.filter((one) => !covered(one))
          .map((one) => ({from: one.address, to: one.address + one.size, joins: true, blocks: []}));
      ranges = ranges.concat(paused).sort((a, b) => a.from - b.from);
    }
    // Memory that grew piece by piece is one range.
    ranges = ranges.reduce((joined, range) => {
      const last = joined[joined.length - 1];
      if (last && last.joins && range.joins && last.to === range.from) last.to = range.to;
      else joined.push(range);
      return joined;
    }, []);
    let next = 0;
    for (const block of blocks) {
      while (next < ranges.length && ranges[next].to <= block.address) ++next;
      if (next < ranges.length && block.address >= ranges[next].from) ranges[next].blocks.push(block);
    }
    return {ranges, pooled, away};
  }

  // A colour for a site: by phase where stacks tell one, else by who holds most.
  colour(site) {
    const phase = this.sites[site] ? this.sites[site].phase : 'unknown';
    if (this.hasPhases || phase === 'workspace') return theme.get('--' + phase);
    const names = ['--set-up', '--backward', '--forward', '--optimizer', '--data', '--workspace'];
    const rank = this.rank.get(site);
    return theme.get(rank < names.length ? names[rank] : '--unknown');
  }
}

// Lives in columns, in order of birth.
class Lives {
  constructor(columns) {
    this.address = sums(columns.address);
    this.size = Float64Array.from(columns.size);
    this.birth = sums(columns.birth);
    this.death = Float64Array.from(columns.life, (life, i) => life < 0 ? Infinity : this.birth[i] + life);
    this.birthTime = sums(columns.birth_ns);
    this.lifeTime = Float64Array.from(columns.life_ns, (life) => life < 0 ? Infinity : life);
    this.site = Int32Array.from(columns.site);
    this.pending = Uint8Array.from(columns.pending);
  }

  get length() { return this.size.length; }

  life(i) {
    return {
      number: i, address: this.address[i], size: this.size[i], birth: this.birth[i], death: this.death[i],
      birthTime: this.birthTime[i], lifeTime: this.lifeTime[i], site: this.site[i], pending: this.pending[i] === 1,
    };
  }

  at(event) {
    const lives = [];
    for (let i = 0; i < this.length && this.birth[i] <= event; ++i) {
      if (this.death[i] > event) lives.push(this.life(i));
    }
    return lives;
  }
}

// Running sums of differences.
function sums(differences) {
  const values = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < differences.length; ++i) values[i] = sum += differences[i];
  return values;
}

// The first place whose value is not below.
function lowerBound(values, wanted) {
  let from = 0;
  let to = values.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

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

// A canvas as large as it is shown, in the screen's own pixels.
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

const tip = {
  show(text, x, y) {
    const box = byId('tip');
    box.textContent = text;
    box.hidden = false;
    const left = Math.min(x + 14, window.innerWidth - box.offsetWidth - 8);
    const below = y + 18 + box.offsetHeight < window.innerHeight;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? y + 18 : y - box.offsetHeight - 10}px`;
  },
  hide() { byId('tip').hidden = true; },
};
