#include "tools/inputs/curve.h"

#include <algorithm>
#include <string>

#include "tools/analysis/pass/timeline.h"

namespace vramstow {
namespace {

uint64_t Positive(int64_t number) { return number > 0 ? static_cast<uint64_t>(number) : 0; }

// Our words for the profiler's categories.
const char* CategoryOf(size_t category) {
  static constexpr const char* kNames[kTimelineCategories] = {
      "parameters",  "optimizer_state", "inputs",      "temporaries",
      "activations", "gradients",       "temporaries", "unknown"};
  return kNames[category];
}

// Where the time axis begins: the first moment with a time.
int64_t StartOf(const MemoryTimeline& timeline) {
  for (const TimelineLevel& level : timeline.levels) {
    if (level.time_ns >= 0) return level.time_ns;
  }
  return 0;
}

void FillCategories(const TimelineLevel& at_peak, Facts* facts) {
  for (size_t i = 0; i < kTimelineCategories; ++i) {
    const std::string name = CategoryOf(i);
    auto known = std::ranges::find(facts->by_category, name, &CategoryFacts::name);
    if (known == facts->by_category.end()) {
      facts->by_category.push_back({name, {}, "the profiler says so"});
      known = std::prev(facts->by_category.end());
    }
    known->at_peak.bytes += Positive(at_peak.by_category[i]);
  }
  std::ranges::stable_sort(facts->by_category, [](const auto& a, const auto& b) {
    return a.at_peak.bytes > b.at_peak.bytes;
  });
}

void CountRows(const MemoryTimeline& timeline, Facts* facts) {
  for (const TimelineRow& row : timeline.rows) {
    if (row.action == TimelineAction::kCreate) {
      ++facts->counts.allocations;
      const uint64_t size = Positive(row.bytes);
      facts->largest_block_bytes = std::max(facts->largest_block_bytes, size);
    } else if (row.action == TimelineAction::kDestroy) {
      ++facts->counts.frees;
    }
  }
}

}  // namespace

Analysis AnalyzeCurve(const LevelCurve& curve) {
  const MemoryTimeline& timeline = curve.timeline;
  Analysis analysis;
  Facts& facts = analysis.facts;
  facts.kind = curve.kind;
  facts.facts = curve.facts;
  facts.reserved_known = false;
  facts.report.events = timeline.is_raw ? timeline.rows.size() : timeline.levels.size();
  facts.report.closed = timeline.complete;
  for (const std::string& text : timeline.missing) facts.missing.push_back(text + ".");
  const int64_t start = StartOf(timeline);
  const auto time_of = [start](int64_t time) { return Positive(time < 0 ? 0 : time - start); };
  facts.peak.allocated_bytes = Positive(timeline.peak_bytes);
  facts.peak.requested_bytes = facts.peak.allocated_bytes;
  facts.peak.requested_then_bytes = facts.peak.allocated_bytes;
  facts.peak.time_ns = time_of(timeline.peak_time_ns);
  facts.live.device.bytes = Positive(timeline.end_bytes);
  CountRows(timeline, &facts);

  // Within a moment the level may have been higher than after it: rows tell that, sums do not.
  Timeline intervals;
  uint64_t level = 0;
  uint64_t highest = 0;
  TimelineLevel at_peak;
  TimelineLevel now;
  const auto note = [&](uint64_t time_ns) {
    TimelinePoint state;
    state.allocated_last = level;
    state.requested_last = level;
    if (intervals.IsBeyond(time_ns)) intervals.Close(state, time_ns);
  };
  const auto reach = [&](uint64_t time_ns) {
    level = Positive(now.total);
    intervals.Note(level, level, 0, 0);
    analysis.detail.levels.push_back({time_ns, level, 0, level, level});
    facts.end_ns = std::max(facts.end_ns, time_ns);
    if (level <= highest) return;
    highest = level;
    at_peak = now;
    facts.peak.sequence = analysis.detail.levels.size();
  };
  auto step = timeline.steps.begin();
  // Iterations that begin up to here.
  const auto mark = [&](int64_t time_ns) {
    for (; step != timeline.steps.end() && step->time_ns <= time_ns; ++step) {
      analysis.detail.marks.push_back(
          {analysis.detail.levels.size() + 1, time_of(step->time_ns), step->name});
    }
  };
  if (timeline.is_raw) {
    for (const TimelineRow& row : timeline.rows) {
      mark(row.time_ns);
      note(time_of(row.time_ns));
      now.by_category[row.category] += row.bytes;
      now.total += row.bytes;
      reach(time_of(row.time_ns));
    }
  } else {
    for (const TimelineLevel& moment : timeline.levels) {
      note(time_of(moment.time_ns));
      now = moment;
      reach(time_of(moment.time_ns));
    }
  }
  TimelinePoint state;
  state.allocated_last = level;
  state.requested_last = level;
  facts.timeline = intervals.Finish(state);
  // A trace of the profiler does not say what memory is for.
  if (curve.kind == "memory_timeline") FillCategories(at_peak, &facts);
  analysis.detail.events = analysis.detail.levels.size();
  analysis.detail.peak_event = facts.peak.sequence;
  return analysis;
}

}  // namespace vramstow
