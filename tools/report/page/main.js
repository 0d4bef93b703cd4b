// Ties the page together: one cursor, which all pictures follow.
class View {
  constructor(facts, details) {
    this.set = facts;
    this.models = details.map((detail, i) => new Model(facts.ranks[i], detail));
    this.timeline = new Timeline(this);
    this.map = new MemoryMap(this);
    this.flame = new Flame(this);
    this.kept = null;
    this.playing = null;
    this.chooseTrace();
    this.listen();
    fillRanks(this);
    this.use(0);
  }

  // Other processes whose curves are drawn beside this one's.
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
    if (facts.process.simulated) parts.push('REHEARSAL on a simulated device');
    byId('subtitle').textContent = parts.join(' · ');
    byId('made').textContent = `Made by vramstow from ${facts.input.file ? facts.input.file.split('/').pop() : 'several files'}; schema ${this.set.schema.name} ${this.set.schema.version}.`;
    fillWhy(facts);
    fillTiles(facts);
    fillNotes(facts);
    fillAdvice(facts);
    fillTables(facts, this);
    const scrub = byId('scrub');
    scrub.min = this.model.firstEvent;
    byId('time-panel').hidden = this.model.firstEvent === this.model.lastEvent;
    byId('flame-cursor').disabled = byId('time-panel').hidden;
    scrub.max = this.model.lastEvent;
    this.fillLegends();
    this.timeline.setModel(this.model);
    this.map.setModel(this.model);
    this.flame.setModel(this.model);
    this.setEvent(this.event);
    this.redrawIterations();
  }

  fillLegends() {
    const entry = (colour, text) => element('span', {}, element('i', {style: `background:var(${colour})`}), text);
    byId('time-legend').replaceChildren(entry('--allocated', 'allocated'),
        ...(this.model.reserved ? [entry('--reserved', 'reserved')] : []), entry('--requested', 'requested'));
    const phases = ['set-up', 'forward', 'backward', 'optimizer', 'data', 'workspace', 'cache', 'unknown'];
    const there = new Set(this.model.sites.filter((site) => site.peak > 0).map((site) => site.phase));
    byId('map-legend').replaceChildren(...(this.model.hasPhases ? phases.filter((phase) => there.has(phase)).map((phase) => entry('--' + phase, phase)) : []),
        element('span', {}, 'hatched: free' + (this.model.away.length > 0 ? '; lower half dark: in host memory or paused' : '')));
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
    this.map.update();
    if (!this.flame.atPeak) this.flame.update();
  }

  keep(block) {
    this.kept = block;
    this.map.tell(block);
    this.timeline.draw();
  }

  toPeak(scroll) {
    this.setEvent(this.model.peakEvent);
    if (scroll) byId('map-panel').scrollIntoView({behavior: 'smooth'});
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
    this.map.draw();
    this.flame.draw();
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
      byId('axis').textContent = this.timeline.byTime ? 'by time' : 'by event';
    };
    byId('theme').addEventListener('click', switchTheme);
    byId('help').addEventListener('click', () => this.toggleKeys());
    byId('axis').addEventListener('click', switchAxis);
    byId('zoom-in').addEventListener('click', () => this.timeline.zoom(0.5));
    byId('zoom-out').addEventListener('click', () => this.timeline.zoom(2));
    byId('fit').addEventListener('click', () => this.timeline.fit());
    byId('to-peak').addEventListener('click', () => this.toPeak(false));
    byId('play').addEventListener('click', () => this.play());
    byId('scrub').addEventListener('input', (event) => this.setEvent(Number(event.target.value)));
    const keys = {
      '+': () => this.timeline.zoom(0.5), '=': () => this.timeline.zoom(0.5), '-': () => this.timeline.zoom(2),
      '0': () => this.timeline.fit(), p: () => this.toPeak(false), n: () => this.toIteration(1), b: () => this.toIteration(-1),
      t: switchAxis, d: switchTheme, '?': () => this.toggleKeys(), Escape: () => this.flame.out(), ' ': () => this.play(),
    };
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') return;
      // A button is pressed by the space bar.
      if (event.key === ' ' && /^(BUTTON|SUMMARY)$/.test(event.target.tagName)) return;
      const steps = (event.shiftKey ? 10 : 1) * Math.max(1, Math.round(this.timeline.eventAt(this.timeline.to) - this.timeline.eventAt(this.timeline.from)) / 200);
      if (event.key === 'ArrowRight') this.setEvent(this.event + steps);
      else if (event.key === 'ArrowLeft') this.setEvent(this.event - steps);
      else if (keys[event.key]) keys[event.key]();
      else return;
      event.preventDefault();
    });
    window.addEventListener('resize', () => this.redraw());
    // Paper is light; the screen is as it was afterwards.
    let onScreen = null;
    window.addEventListener('beforeprint', () => {
      onScreen = document.documentElement.dataset.theme;
      this.setTheme('light');
    });
    window.addEventListener('afterprint', () => {
      if (onScreen) this.setTheme(onScreen);
    });
  }
}

window.vramstow = new View(JSON.parse(byId('facts').textContent), JSON.parse(byId('details').textContent));
