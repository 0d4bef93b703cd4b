#include "tools/formats/memory_timeline.h"

#include <algorithm>
#include <utility>

#include "tools/formats/json_walk.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

constexpr size_t kRowFields = 4;
constexpr int64_t kBeforeRecording = -1;

int64_t Add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;  // only an invalid file overflows
}

// Reads the raw and the summed form of a memory timeline (memory_timeline.h). Both are lists of
// lists. In the summed form, the second list contains lists, too.
class TimelineVisitor : public JsonVisitor {
 public:
  explicit TimelineVisitor(MemoryTimeline* timeline) : timeline_(timeline) {}

  void Begin(bool is_object) override {
    if (is_object) wrong_ = true;
    if (depth() == 1) return;
    if (depth() == 2) {
      ++lists_;
      row_.clear();
    } else if (depth() == 3 && lists_ == 2) {
      timeline_->is_raw = false;
      row_.clear();
    } else {
      wrong_ = true;
    }
  }

  void End() override {
    if (depth() == 2 && lists_ == 1) {
      first_ = row_;  // a row, or the times; the second list decides
    } else if (depth() == 2 && timeline_->is_raw) {
      if (lists_ == 2) AddRow(first_);
      AddRow(row_);
    } else if (depth() == 3) {
      AddLevel();
    } else if (depth() == 1 && lists_ == 1) {
      AddRow(first_);
    }
  }

  void Number(const JsonNumber& number) override {
    if (depth() == 1) wrong_ = true;
    // Only the first list may be long, because it has the times in the summed form. Numbers beyond
    // the end of a row are ignored.
    if (lists_ > 1 && row_.size() > kTimelineCategories) return;
    row_.push_back(number.AsSigned());
  }

  void Text(std::string_view) override { wrong_ = true; }

  bool wrong() const { return wrong_; }
  uint64_t bad_rows() const { return bad_rows_; }
  size_t times() const { return first_.size(); }

 private:
  void AddRow(const std::vector<int64_t>& row) {
    if (row.size() != kRowFields || row[1] < 1 || row[1] > 4 || row[3] < 0 ||
        row[3] >= int64_t{kTimelineCategories}) {
      ++bad_rows_;
      return;
    }
    timeline_->rows.push_back({.time_ns = row[0],
                               .bytes = row[2],
                               .action = static_cast<TimelineAction>(row[1]),
                               .category = static_cast<uint8_t>(row[3])});
  }

  // Adds a row of the summed form. It has a zero, followed by the bytes of each category.
  void AddLevel() {
    const size_t index = timeline_->levels.size();
    if (index >= first_.size() || row_.size() != kTimelineCategories + 1) {
      ++bad_rows_;
      return;
    }
    TimelineLevel level;
    const int64_t microseconds = std::clamp<int64_t>(first_[index], 0, INT64_MAX / 1000);
    level.time_ns = microseconds * 1000;
    for (size_t i = 0; i < kTimelineCategories; ++i) {
      level.by_category[i] = row_[i + 1];
      level.total = Add(level.total, row_[i + 1]);
    }
    timeline_->levels.push_back(level);
  }

  MemoryTimeline* timeline_;
  uint64_t lists_ = 0;  // at depth 2
  std::vector<int64_t> first_;
  std::vector<int64_t> row_;
  bool wrong_ = false;
  uint64_t bad_rows_ = 0;
};

void PeakOfLevels(MemoryTimeline* timeline) {
  timeline->start_bytes = timeline->levels.front().total;
  timeline->end_bytes = timeline->levels.back().total;
  const auto peak = std::ranges::max_element(timeline->levels, {}, &TimelineLevel::total);
  timeline->peak_bytes = peak->total;
  timeline->peak_time_ns = peak->time_ns;
}

}  // namespace

const char* TimelineCategoryName(size_t category) {
  constexpr const char* kNames[kTimelineCategories] = {
      "parameter",  "optimizer_state", "input",           "temporary",
      "activation", "gradient",        "autograd_detail", "unknown"};
  return category < kTimelineCategories ? kNames[category] : "unknown";
}

void FillLevels(MemoryTimeline* timeline) {
  TimelineLevel now;
  for (const TimelineRow& row : timeline->rows) {
    if (row.time_ns != now.time_ns && (now.total != 0 || !timeline->levels.empty())) {
      timeline->levels.push_back(now);
    }
    now.time_ns = row.time_ns;
    now.by_category[row.category] = Add(now.by_category[row.category], row.bytes);
    now.total = Add(now.total, row.bytes);
    if (row.time_ns == kBeforeRecording) timeline->start_bytes = now.total;
    if (now.total > timeline->peak_bytes) {
      timeline->peak_bytes = now.total;
      timeline->peak_time_ns = row.time_ns;
    }
  }
  timeline->levels.push_back(now);
  timeline->end_bytes = now.total;
}

absl::StatusOr<MemoryTimeline> ReadMemoryTimeline(const Input& input) {
  MemoryTimeline timeline;
  TimelineVisitor visitor(&timeline);
  const absl::Status walked = WalkJson(input, &visitor);
  const bool readable = walked.ok() || walked.code() == absl::StatusCode::kDataLoss;
  const bool empty = timeline.rows.empty() && timeline.levels.empty();
  if (!readable || (!walked.ok() && empty)) {
    return absl::Status(walked.code(), Concat(input.path(), ": ", std::string(walked.message())));
  }
  if (visitor.wrong() || empty) {
    return absl::InvalidArgumentError(Concat(input.path(), " is ", input.sniffed().what,
                                             ", but no memory timeline of PyTorch's profiler: its "
                                             "rows are not [time, action, bytes, category]"));
  }
  if (!walked.ok()) {
    timeline.complete = false;
    timeline.missing.emplace_back(walked.message());
  }
  if (visitor.bad_rows() != 0) {
    timeline.missing.push_back(
        Concat(NumberOf(visitor.bad_rows(), "row"), " could not be used and were left out"));
  }
  if (timeline.is_raw) {
    FillLevels(&timeline);
  } else {
    PeakOfLevels(&timeline);
  }
  timeline.missing.emplace_back("no addresses, no call stacks, and no reserved memory");
  return timeline;
}

}  // namespace vramstow
