// The horizontal axis: time, time without idle stretches, or events. A position is a number along
// the axis.
class Axis {
  static kinds = ['folded', 'time', 'event'];

  constructor(model, kind) {
    this.model = model;
    this.kind = kind;
    this.folds = kind === 'folded' ? foldsOf(model) : [];
    this.values = kind === 'event' ? model.event : kind === 'time' ? model.time : this.folded();
  }

  get begin() { return this.kind === 'event' ? this.model.firstEvent : 0; }
  get end() { return Math.max(this.begin + 1, this.values[this.values.length - 1]); }
  get isTime() { return this.kind !== 'event'; }

  placeOf(event) { return this.kind === 'event' ? event : this.values[this.model.stepOf(event)]; }
  eventAt(place) {
    if (this.kind === 'event') return Math.max(this.model.firstEvent, Math.min(this.model.lastEvent, Math.round(place)));
    return this.model.event[Math.min(this.model.steps - 1, lowerBound(this.values, place))];
  }

  placeOfTime(time) {
    let place = time;
    for (const fold of this.folds) {
      if (time >= fold.to) place -= fold.left;
      else if (time > fold.from) place -= (time - fold.from) / (fold.to - fold.from) * fold.left;
    }
    return place;
  }

  timeAt(place) {
    let time = place;
    for (const fold of this.folds) {
      if (time >= fold.from + fold.width) time += fold.left;
      else if (time > fold.from) return fold.from + (time - fold.from) / fold.width * (fold.to - fold.from);
    }
    return time;
  }

  folded() { return Float64Array.from(this.model.time, (time) => this.placeOfTime(time)); }

  // Returns the [position, text] pairs of the axis labels.
  ticks(from, to, most) {
    const ticks = [];
    if (!this.isTime) {
      const step = niceStep((to - from) / most);
      for (let place = Math.ceil(from / step) * step; place <= to; place += step) {
        ticks.push([place, countText(Math.round(place) - this.model.opening)]);
      }
      return ticks;
    }
    const step = niceStep((to - from) / most);
    const last = this.timeAt(to);
    let time = Math.ceil(this.timeAt(from) / step) * step;
    while (time <= last && ticks.length < 200) {
      const fold = this.folds.find((one) => time > one.from && time < one.to);
      if (fold) {
        time = Math.ceil(fold.to / step) * step;
        continue;
      }
      ticks.push([this.placeOfTime(time), time ? timeText(time) : '0 s']);
      time += step;
    }
    return ticks;
  }
}

// Returns the idle stretches: no level changes in them, and they are long compared with the run.
// Each is {from, to, width, left}. `width` is the part in nanoseconds that is shown, and `left` the
// part that is left out.
function foldsOf(model) {
  if (model.folds) return model.folds;
  const whole = model.time[model.steps - 1];
  const idle = [];
  let since = 0;
  const end = (time) => {
    if (time - since > whole / 20) idle.push({from: since, to: time});
  };
  const differs = (values, i) => values && values[i] !== (i ? values[i - 1] : 0);
  for (let i = 0; i < model.steps; ++i) {
    if (!differs(model.allocated, i) && !differs(model.reserved, i) && !differs(model.requested, i)) continue;
    end(model.time[i]);
    since = model.time[i];
  }
  end(whole);
  const busy = whole - idle.reduce((sum, fold) => sum + fold.to - fold.from, 0);
  const width = (busy > 0 ? busy : whole / 50) / 30;
  model.folds = idle.filter((fold) => fold.to - fold.from > 2 * width)
      .map((fold) => ({...fold, width, left: fold.to - fold.from - width}));
  return model.folds;
}

// Returns the next round number of bytes that is not smaller than `bytes`.
function niceBytes(bytes) {
  const unit = 1024 ** Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1024));
  for (const step of [1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 896, 1024]) {
    if (step * unit >= bytes) return step * unit;
  }
  return bytes;
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  for (const step of [1, 2, 5, 10]) {
    if (step * power >= least) return step * power;
  }
  return least;
}
