// MarkLog: the marks of the application, in order, and the facts that Python's start-up hook sends
// as marks, `vramstow.fact KEY VALUE`.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// nanoseconds; events are counted from 1. Memory: the first kMax marks.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_MARK_LOG_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_MARK_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/typed_event.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

class MarkLog {
 public:
  // Adds `event`, a kMark, which is the `number`th of all events.
  void Add(const Event& event, std::string_view text, uint64_t number, uint64_t now_ns) {
    if (RecordFact(text)) return;
    if (marks_.size() == kMax) {
      ++left_out_;
      return;
    }
    MarkDetail mark;
    mark.event = number;
    mark.time_ns = now_ns;
    mark.text = text;
    const MarkKind kind = MarkEvent::Of(event).kind;
    if (kind == MarkKind::kRangeBegins) mark.kind = MarkDetail::Kind::kBegin;
    if (kind == MarkKind::kRangeEnds) mark.kind = MarkDetail::Kind::kEnd;
    marks_.push_back(std::move(mark));
  }

  uint64_t left_out() const { return left_out_; }
  std::vector<MarkDetail> Take() { return std::move(marks_); }
  // Returns the facts by key; the last value of a key counts.
  std::map<std::string, std::string> MoveOutFacts() { return std::move(facts_); }

 private:
  static constexpr size_t kMax = 100'000;

  bool RecordFact(std::string_view text) {
    constexpr std::string_view kFact = "vramstow.fact ";
    constexpr size_t kMaxFacts = 256;
    if (!text.starts_with(kFact)) return false;
    text.remove_prefix(kFact.size());
    const size_t space = text.find(' ');
    if (space == std::string_view::npos) return true;
    const std::string key(text.substr(0, space));
    if (facts_.size() < kMaxFacts || facts_.contains(key)) facts_[key] = text.substr(space + 1);
    return true;
  }

  std::vector<MarkDetail> marks_;
  std::map<std::string, std::string> facts_;
  uint64_t left_out_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_MARK_LOG_H_
