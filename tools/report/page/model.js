// One process: its facts, and the lives of its blocks.
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
    this.uses = detail.uses || {names: [], of: [], freed_at: []};
    this.hasUses = this.uses.names.some((name) => name !== 'unknown');
    this.holders = heldBlocks(detail.holders);
    this.ownFrames = new Set(detail.own_frames || []);
    this.sources = new Map((detail.sources || []).map((source) => [source.frame, source]));
    this.turns = spansOfTurns(detail.turns, this.event[this.event.length - 1]);
    this.peakEvent = detail.peak_event;
    this.lastEvent = Math.max(1, detail.events);
    // The state before the first event of the recording is shown as event 0.
    this.firstEvent = Math.max(1, Math.min(detail.first_event - 1, this.lastEvent));
    this.opening = detail.first_event - 1;
    this.iterations = facts.iterations || [];
  }

  get steps() { return this.event.length; }

  // stepOf returns the step of an event, and stepAtTime returns the step of a time.
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

  categoryOf(block) { return this.uses.names[this.uses.of[block]] || 'unknown'; }

  // Returns the variable that held the block, if the process had a census (a reference scan).
  // Otherwise returns the source line that allocated the block.
  nameOfBlock(block) {
    const held = this.holders.get(block);
    if (held) return held.holder;
    const site = this.sites[this.blocks.site[block]];
    return site.operation && site.operation !== site.site ? `${site.site}, ${site.operation}` : site.site;
  }

  // Returns the numbers of the blocks that live at an event.
  aliveAt(event) {
    const alive = [];
    const {birth, death, pending} = this.blocks;
    for (let i = 0; i < this.blocks.length && birth[i] <= event; ++i) {
      if (death[i] > event && !pending[i]) alive.push(i);
    }
    return alive;
  }

  // Returns the bytes that each call site holds at an event. Only the lives that are in the report
  // are counted.
  sitesAt(event, matches) {
    const bytes = new Map();
    const {birth, death, size, site, pending} = this.blocks;
    for (let i = 0; i < this.blocks.length && birth[i] <= event; ++i) {
      if (death[i] > event && !pending[i] && (!matches || matches[i])) bytes.set(site[i], (bytes.get(site[i]) || 0) + size[i]);
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

  // Returns the memory at an event as ranges in order of address. Each range has its blocks.
  layoutAt(event) {
    const blocks = this.blocks.at(event).sort((a, b) => a.address - b.address);
    let ranges = this.segments.at(event).sort((a, b) => a.address - b.address)
        .map((segment) => ({from: segment.address, to: segment.address + segment.size, joins: segment.pending, blocks: []}));
    const pooled = ranges.length > 0;
    if (!pooled) {
      ranges = blocks.map((block) => ({from: block.address, to: block.address + block.size, blocks: []}));
    }
    // Paused memory is mapped nowhere until it is resumed, but its blocks have the same addresses
    // as before.
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
    // Joins ranges of memory that was mapped piece by piece to one range.
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
}

// The lives of blocks, in order of birth. Each property is a column.
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

// Returns for each block number its owner, its role, and its description.
function heldBlocks(columns) {
  if (!columns) return new Map();
  return new Map(columns.block.map((block, i) => [block, {
    holder: columns.names[columns.holder[i]], role: columns.names[columns.role[i]], about: columns.names[columns.about[i]]}]));
}

// Returns the numbers whose differences are given, by adding up the differences.
function sums(differences) {
  const values = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < differences.length; ++i) values[i] = sum += differences[i];
  return values;
}

// Returns the first index whose value is not smaller than `wanted`.
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
