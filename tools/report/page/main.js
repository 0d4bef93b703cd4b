// Connects the parts of the page. All parts follow one cursor.
class View {
  constructor(facts, details) {
    this.set = facts;
    this.models = details.map((detail, i) => new Model(facts.ranks[i], detail));
    this.timeline = new Timeline(this);
    this.map = new MemoryMap(this);
    this.flame = new Flame(this);
    this.addresses = new Addresses(this);
    this.details = new Details(this);
    this.search = new Search(this);
    this.groupings = new Map();
    this.matches = null;
    this.lit = null;
    this.kept = null;
    this.playing = null;
    this.chooseTrace();
    this.comparison = new Comparison(this);
    this.listen();
    fillRanks(this);
    this.use(0);
  }

  // Returns the other processes whose curves are drawn beside those of the shown process.
  others() { return this.overlaid === undefined || this.overlaid === null ? [] : [this.models[this.overlaid]]; }

  chooseTrace() {
    byId('trace-label').hidden = this.models.length < 2;
    const nameOf = (facts, i) => facts.process.rank !== null ? `rank ${facts.process.rank}` : (facts.input.file || `${i}`).split('/').pop();
    this.names = this.models.map((model, i) => nameOf(model.facts, i));
    byId('trace').replaceChildren(...this.names.map((name, i) => element('option', {value: i}, name)));
    byId('trace').addEventListener('change', (event) => this.use(Number(event.target.value)));
    if (this.models.length < 2) return;
    const overlay = element('select', {id: 'overlay', 'aria-label': 'Lay another process over it'},
        element('option', {value: ''}, 'no other'), ...this.names.map((name, i) => element('option', {value: i}, name)));
    overlay.addEventListener('change', () => {
      this.overlaid = overlay.value === '' ? null : Number(overlay.value);
      this.timeline.draw();
    });
    byId('trace-label').after(element('label', {}, 'over it ', overlay));
  }

  choose(number) {
    byId('trace').value = number;
    this.use(number);
  }

  use(number) {
    this.model = this.models[number];
    this.kept = null;
    this.lit = null;
    this.details.close();
    this.chooseGrouping(this.kind && Grouping.isKnown(this.model, this.kind) ? this.kind : Grouping.bestOf(this.model), true);
    this.event = this.model.peakEvent || this.model.lastEvent;
    const facts = this.model.facts;
    const program = facts.process.command || facts.process.program || (facts.input.file || '').split('/').pop();
    byId('title').textContent = program || 'vramstow report';
    document.title = `${program || 'vramstow'} · memory`;
    const kinds = {stow: 'vramstow trace', pytorch_snapshot: 'PyTorch memory snapshot', rmm_log: 'RMM log',
      profiler_trace: 'PyTorch profiler trace', memory_timeline: 'PyTorch memory timeline', minimalloc: 'minimalloc problem'};
    const parts = [kinds[facts.input.kind] || facts.input.kind, `${counted(facts.input.events, 'event')} in ${timeText(facts.input.duration_ns)}`];
    if (facts.process.host) parts.push(`on ${facts.process.host}`);
    for (const device of facts.devices) if (device.name) parts.push(device.name);
    if (facts.process.simulated) parts.push('SIMULATED RUN');
    byId('subtitle').textContent = parts.join(' · ');
    byId('made').textContent = `Made by vramstow from ${facts.input.file ? facts.input.file.split('/').pop() : 'several files'}; schema ${this.set.schema.name} ${this.set.schema.version}.`;
    fillWhy(facts);
    fillCarried(this.model);
    fillTiles(facts);
    fillNotes(facts);
    fillAdvice(facts);
    fillTables(facts, this);
    const scrub = byId('scrub');
    scrub.min = this.model.firstEvent;
    byId('time-panel').hidden = this.model.firstEvent === this.model.lastEvent;
    byId('flame-cursor').disabled = byId('time-panel').hidden;
    scrub.max = this.model.lastEvent;
    this.timeline.model = null;
    this.addresses.setModel(this.model);
    this.map.setModel(this.model);
    this.timeline.setModel(this.model);
    this.flame.setModel(this.model);
    this.fillAxisChoice();
    this.fillLegends();
    this.setEvent(this.event);
    this.redrawIterations();
    this.comparison.update();
    if (this.search.words.length) this.search.apply();
    fillContents();
  }

  // Returns the grouping for a process and a kind, and makes each grouping only once.
  groupingOf(model, kind) {
    const key = `${this.models.indexOf(model)} ${kind}`;
    if (!this.groupings.has(key)) this.groupings.set(key, new Grouping(model, kind));
    return this.groupings.get(key);
  }

  chooseGrouping(kind, quietly) {
    this.kind = kind;
    this.lit = null;
    this.grouping = this.groupingOf(this.model, kind);
    byId('grouping').hidden = this.model.blocks.length === 0;
    byId('grouping').replaceChildren(...Grouping.kinds.map((one, i) => element('button', {type: 'button', 'aria-pressed': String(one === kind),
      disabled: !Grouping.isKnown(this.model, one), title: `${Grouping.titles[one]} (${i + 1})`, onclick: () => this.chooseGrouping(one)}, Grouping.titles[one])));
    if (quietly) return;
    this.redraw();
    this.comparison.update();
    this.fillLegends();
  }

  fillAxisChoice() {
    const titles = {folded: 'Time, idle folded', time: 'Time', event: 'Events'};
    const kinds = this.timeline.axisKinds();
    const select = byId('axis');
    select.replaceChildren(...kinds.map((kind) => element('option', {value: kind}, titles[kind])));
    select.value = this.timeline.axisKind;
    byId('axis-label').hidden = kinds.length < 2;
  }

  // Returns the group that was clicked in a stacked area. It stays highlighted until another group
  // is clicked.
  litGroup(stack) { return this.lit && this.lit.grouping === stack.grouping ? this.lit.group : undefined; }

  showGroup(stack, group, focus) {
    this.lit = {grouping: stack.grouping, group};
    this.kept = group >= 0 && !stack.grouping.names ? this.model.blocks.life(group) : null;
    this.details.showGroup(stack, group, focus);
    this.timeline.draw();
    this.addresses.draw();
    this.map.draw();
  }

  showSites(title, wanted, focus) {
    const sites = [...this.model.sites.keys()].filter((i) => wanted(this.model.sites[i]));
    if (sites.length) this.details.showSites(title, sites, focus);
  }

  showModule(name, focus) {
    const plain = name.replace(/ \(\d+x\)$/, '');
    this.showSites(name, (site) => site.module && (site.module === plain || withoutNumbers(site.module) === withoutNumbers(plain)), focus);
  }

  showCategory(name, focus) {
    this.toPeak(false);
    this.chooseGrouping('category');
    const group = this.grouping.names.indexOf(name.replaceAll('_', ' '));
    if (group >= 0) this.showGroup(this.timeline.stack, group, focus);
  }

  // Redraws the pictures that follow the timeline, after the timeline has changed to another span
  // of time.
  spanChanged() { this.addresses.draw(); }

  searched() {
    this.redraw();
    this.flame.update();
  }

  // The arrow keys step through the live blocks by address; Enter shows the details of the pinned
  // one.
  stepBlocks(event) {
    const alive = this.model.aliveAt(this.event).sort((a, b) => this.model.blocks.address[a] - this.model.blocks.address[b]);
    if (!alive.length) return;
    const place = this.kept ? alive.indexOf(this.kept.number) : -1;
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by) this.keep(this.model.blocks.life(alive[Math.max(0, Math.min(alive.length - 1, place + by))]));
    else if (event.key === 'Enter' && this.kept) this.details.showBlock(this.kept, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  goTo(event) {
    this.setEvent(event);
    byId('time-panel').scrollIntoView({behavior: reducesMotion() ? 'instant' : 'smooth'});
  }

  // In the legends, a curve is shown as a line, and an area as a box.
  fillLegends() {
    const curve = (colour, text, dash) => element('span', {}, element('i', {class: dash ? 'line dash' : 'line', style: `border-color:var(${colour})`}), text);
    byId('time-legend').replaceChildren(...(this.model.reserved ? [curve('--reserved', 'reserved')] : []), curve('--requested', 'requested', true),
        ...((this.model.facts.out_of_memory || []).length ? [curve('--warn', 'out of memory')] : []), element('span', {}, '● the peak'),
        ...Object.entries(TURN_COLOURS).filter(([state]) => this.model.turns.some((span) => span.state === state))
            .map(([state, colour]) => element('span', {}, element('i', {style: `background:var(${colour})`}), TURN_WORDS[state])));
    byId('map-legend').replaceChildren(element('span', {}, `Colours are those of the timeline; hatched: free${this.model.away.length > 0 ? '; lower half dark: in host memory or paused' : ''}`));
  }

  // Lists the names of the areas, the largest first. A click on a name highlights its area and
  // shows the area's details.
  fillStackLegend(stack) {
    const {grouping} = stack;
    if (!grouping.names) {
      const there = this.model.hasUses ? this.model.uses.names.map((name, i) => [name, grouping.byCategory.get(i)]) : [];
      byId('stack-legend').replaceChildren(...there.map(([name, colour]) => element('span', {}, element('i', {style: `background:var(${colour})`}), name.replaceAll('_', ' '))),
          element('span', {}, 'each block by itself, the oldest below'));
      return;
    }
    const entries = stack.groups.map((group) => [group, `var(${grouping.colours[group]})`]);
    if (stack.rest.some((bytes) => bytes > 0)) entries.push([-1, `var(${stack.restColour})`]);
    byId('stack-legend').replaceChildren(...entries.map(([group, colour]) => element('button', {type: 'button', class: 'entry',
      onclick: (event) => this.showGroup(this.timeline.stack, group, event.detail === 0)}, element('i', {style: `background:${colour}`}), stack.nameOf(group))));
  }

  setEvent(event) {
    this.event = Math.max(this.model.firstEvent, Math.min(this.model.lastEvent, Math.round(event)));
    byId('scrub').value = this.event;
    const levels = this.model.levelsAt(this.event);
    const line = byId('readout');
    line.textContent = '';
    line.append(`Event ${countText(this.event - this.model.opening)} at ${timeText(levels.time)}: `, element('b', {}, bytesText(levels.allocated)), ' allocated');
    if (levels.reserved !== null) line.append(', ', element('b', {}, bytesText(levels.reserved)), ' reserved');
    line.append(', ', element('b', {}, bytesText(levels.requested)), ' requested.');
    Object.assign(line.dataset, {event: this.event, time: levels.time, allocated: levels.allocated, reserved: levels.reserved, requested: levels.requested});
    this.timeline.follow();
    this.addresses.draw();
    this.map.update();
    if (!this.flame.atPeak) this.flame.update();
  }

  keep(block, focus) {
    this.kept = block;
    this.lit = null;
    if (block) this.details.showBlock(block, focus);
    this.map.tell(block);
    this.map.draw();
    this.timeline.draw();
    this.addresses.draw();
  }

  toPeak(scroll) {
    this.setEvent(this.model.peakEvent);
    if (scroll) byId('map-panel').scrollIntoView({behavior: reducesMotion() ? 'instant' : 'smooth'});
  }

  toIteration(by) {
    const list = this.model.iterations;
    const wanted = by > 0 ? list.find((one) => one.begin_event > this.event) : [...list].reverse().find((one) => one.begin_event < this.event);
    if (wanted) this.setEvent(wanted.begin_event);
  }

  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = null;
    } else {
      if (this.event >= this.model.lastEvent) this.setEvent(this.model.firstEvent);
      const step = Math.max(1, Math.round(this.model.lastEvent / 400));
      this.playing = setInterval(() => {
        this.setEvent(this.event + step);
        if (this.event >= this.model.lastEvent) this.play();
      }, 40);
    }
    byId('play').textContent = this.playing ? '❚❚ Pause' : '▶ Play';
  }

  setTheme(name) {
    document.documentElement.dataset.theme = name;
    byId('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
    theme.forget();
    this.redraw();
  }

  redraw() {
    this.timeline.draw();
    this.addresses.draw();
    this.map.draw();
    this.flame.draw();
    this.comparison.draw();
    this.redrawIterations();
  }

  toggleKeys() {
    byId('keys').hidden = !byId('keys').hidden;
    byId('help').setAttribute('aria-expanded', String(!byId('keys').hidden));
  }

  listen() {
    const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
    document.documentElement.dataset.theme = prefersDark.matches ? 'dark' : 'light';
    byId('theme').textContent = prefersDark.matches ? 'Light' : 'Dark';
    prefersDark.addEventListener('change', () => this.setTheme(prefersDark.matches ? 'dark' : 'light'));
    const switchTheme = () => this.setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    const switchAxis = () => {
      this.timeline.switchAxis();
      byId('axis').value = this.timeline.axisKind;
    };
    byId('theme').addEventListener('click', switchTheme);
    byId('help').addEventListener('click', () => this.toggleKeys());
    byId('axis').addEventListener('change', (event) => this.timeline.chooseAxis(event.target.value));
    byId('zoom-in').addEventListener('click', () => this.timeline.zoom(0.5));
    byId('zoom-out').addEventListener('click', () => this.timeline.zoom(2));
    byId('fit').addEventListener('click', () => this.timeline.fit());
    byId('to-peak').addEventListener('click', () => this.toPeak(false));
    byId('play').addEventListener('click', () => this.play());
    byId('scrub').addEventListener('input', (event) => this.setEvent(Number(event.target.value)));
    const keys = {
      '+': () => this.timeline.zoom(0.5), '=': () => this.timeline.zoom(0.5), '-': () => this.timeline.zoom(2),
      '0': () => this.timeline.fit(), p: () => this.toPeak(false), n: () => this.toIteration(1), b: () => this.toIteration(-1),
      t: switchAxis, d: switchTheme, '?': () => this.toggleKeys(), Escape: () => this.details.isOpen ? this.details.close() : this.flame.out(), '/': () => this.search.focus(),
      i: () => this.flame.turn(), ' ': () => this.play(),
    };
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
      // The space bar presses a button that has the focus, so the key is not handled here then.
      if (event.key === ' ' && /^(BUTTON|SUMMARY)$/.test(event.target.tagName)) return;
      const steps = (event.shiftKey ? 10 : 1) * Math.max(1, Math.round(this.timeline.eventAt(this.timeline.to) - this.timeline.eventAt(this.timeline.from)) / 200);
      if (event.key === 'ArrowRight') this.setEvent(this.event + steps);
      else if (event.key === 'ArrowLeft') this.setEvent(this.event - steps);
      else if (Grouping.kinds[event.key - 1] && Grouping.isKnown(this.model, Grouping.kinds[event.key - 1])) this.chooseGrouping(Grouping.kinds[event.key - 1]);
      else if (keys[event.key]) keys[event.key]();
      else return;
      event.preventDefault();
    });
    // The observer's first call is ignored, because everything has just been drawn.
    let width = document.querySelector('main').clientWidth;
    new ResizeObserver(() => {
      const head = document.querySelector('header');
      document.documentElement.style.setProperty('--head', `${getComputedStyle(head).position === 'sticky' ? head.offsetHeight : 0}px`);
      if (document.querySelector('main').clientWidth === width) return;
      width = document.querySelector('main').clientWidth;
      this.redraw();
    }).observe(document.querySelector('main'));
    // A printed page uses light colours; the screen is restored afterwards.
    let onScreen = null;
    window.addEventListener('beforeprint', () => {
      onScreen = document.documentElement.dataset.theme;
      this.setTheme('light');
      this.map.sight.settle();
      this.addresses.sight.settle();
    });
    window.addEventListener('afterprint', () => {
      if (onScreen) this.setTheme(onScreen);
    });
  }
}

window.vramstow = new View(JSON.parse(byId('facts').textContent), JSON.parse(byId('details').textContent));
