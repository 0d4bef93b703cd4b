#include "tools/inputs/curve.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tools/analysis/accounts/timeline.h"

namespace vramstow {
namespace {

uint64_t Positive(int64_t number) { return number > 0 ? static_cast<uint64_t>(number) : 0; }

// Returns vramstow's name for a category of PyTorch's profiler.
const char* CategoryOf(size_t category) {
  static constexpr const char* kNames[kTimelineCategories] = {
      "parameters",  "optimizer_state", "inputs",      "temporaries",
      "activations", "gradients",       "temporaries", "unknown"};
  return kNames[category];
}

// Returns the time of the first level that is not from before the recording. The time axis of the
// facts begins there.
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

// Iterates over the levels of a curve and fills the facts that follow from them.
class CurveWalk {
 public:
  CurveWalk(const MemoryTimeline& timeline, Analysis* analysis)
      : timeline_(timeline),
        analysis_(*analysis),
        start_(StartOf(timeline)),
        step_(timeline.steps.begin()) {}

  uint64_t TimeOf(int64_t time_ns) const { return Positive(time_ns < 0 ? 0 : time_ns - start_); }

  // Computes the facts of each moment from the levels. Within a moment the level may have been
  // higher than at the end of the moment; only a timeline in the raw form has this information.
  void Walk() {
    if (!timeline_.is_raw) {
      for (const TimelineLevel& moment : timeline_.levels) {
        CloseBefore(TimeOf(moment.time_ns));
        now_ = moment;
        Reach(TimeOf(moment.time_ns));
      }
      return;
    }
    for (const TimelineRow& row : timeline_.rows) {
      MarkUntil(row.time_ns);
      CloseBefore(TimeOf(row.time_ns));
      now_.by_category[row.category] += row.bytes;
      now_.total += row.bytes;
      Reach(TimeOf(row.time_ns));
    }
  }
  TimelineFacts Finish() { return intervals_.Finish(State()); }
  const TimelineLevel& at_peak() const { return at_peak_; }

 private:
  TimelinePoint State() const {
    TimelinePoint state;
    state.allocated_last = level_;
    state.requested_last = level_;
    return state;
  }
  // Adds marks for the iterations that begin at `time_ns` or before.
  void MarkUntil(int64_t time_ns) {
    for (; step_ != timeline_.steps.end() && step_->time_ns <= time_ns; ++step_) {
      analysis_.detail.marks.push_back(
          {analysis_.detail.levels.size() + 1, TimeOf(step_->time_ns), step_->name});
    }
  }
  void CloseBefore(uint64_t time_ns) {
    if (intervals_.IsBeyond(time_ns)) intervals_.Close(State(), time_ns);
  }
  void Reach(uint64_t time_ns) {
    level_ = Positive(now_.total);
    intervals_.Note(level_, level_, 0, 0);
    analysis_.detail.levels.push_back({time_ns, level_, 0, level_, level_});
    analysis_.facts.end_ns = std::max(analysis_.facts.end_ns, time_ns);
    if (level_ <= highest_) return;
    highest_ = level_;
    at_peak_ = now_;
    analysis_.facts.peak.sequence = analysis_.detail.levels.size();
  }

  const MemoryTimeline& timeline_;
  Analysis& analysis_;
  const int64_t start_;
  std::vector<TimelineStep>::const_iterator step_;
  Timeline intervals_;
  uint64_t level_ = 0;
  uint64_t highest_ = 0;
  TimelineLevel at_peak_;
  TimelineLevel now_;
};

}  // namespace

Analysis AnalyzeCurve(const LevelCurve& curve) {
  const MemoryTimeline& timeline = curve.timeline;
  Analysis analysis;
  Facts& facts = analysis.facts;
  CurveWalk walk(timeline, &analysis);
  facts.kind = curve.kind;
  facts.trace_metadata = curve.facts;
  facts.reserved_known = false;
  facts.report.events = timeline.is_raw ? timeline.rows.size() : timeline.levels.size();
  facts.report.closed = timeline.complete;
  for (const std::string& text : timeline.missing) facts.missing.push_back(text + ".");
  facts.peak.allocated_bytes = Positive(timeline.peak_bytes);
  facts.peak.requested_bytes = facts.peak.allocated_bytes;
  facts.peak.requested_then_bytes = facts.peak.allocated_bytes;
  facts.peak.time_ns = walk.TimeOf(timeline.peak_time_ns);
  facts.live.device.bytes = Positive(timeline.end_bytes);
  CountRows(timeline, &facts);
  walk.Walk();
  facts.timeline = walk.Finish();
  // A memory timeline has categories of memory; a trace of the profiler does not.
  if (curve.kind == "memory_timeline") FillCategories(walk.at_peak(), &facts);
  analysis.detail.events = analysis.detail.levels.size();
  analysis.detail.peak_event = facts.peak.sequence;
  return analysis;
}

}  // namespace vramstow
