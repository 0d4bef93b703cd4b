// MarkLog: the marks of the application, in order, and the facts that Python's start-up hook sends
// as marks, `vramstow.fact KEY VALUE`.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// nanoseconds; events are counted from 1. Memory: the first kMax marks, and as many facts about
// limits.
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
    if (RecordFact(text, number)) return;
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
  // Sets the facts about the limit of a device's memory in `facts` to those at an event. The limit
  // may have changed later.
  void SetLimitAt(int device, uint64_t event, std::map<std::string, std::string>* facts) const {
    const std::string prefix = "device." + std::to_string(device) + ".limited_";
    std::erase_if(*facts, [&](const auto& fact) { return fact.first.starts_with(prefix); });
    for (const LimitFact& fact : limits_) {
      if (fact.event <= event && fact.key.starts_with(prefix)) (*facts)[fact.key] = fact.value;
    }
  }

 private:
  static constexpr size_t kMax = 100'000;

  struct LimitFact {
    uint64_t event;
    std::string key;
    std::string value;
  };

  bool RecordFact(std::string_view text, uint64_t number) {
    constexpr std::string_view kFact = "vramstow.fact ";
    constexpr size_t kMaxFacts = 256;
    if (!text.starts_with(kFact)) return false;
    text.remove_prefix(kFact.size());
    const size_t space = text.find(' ');
    if (space == std::string_view::npos) return true;
    const std::string key(text.substr(0, space));
    const std::string value(text.substr(space + 1));
    if (key.find(".limited_") != std::string::npos && limits_.size() < kMax) {
      limits_.push_back({number, key, value});
    }
    if (facts_.size() < kMaxFacts || facts_.contains(key)) facts_[key] = value;
    return true;
  }

  std::vector<MarkDetail> marks_;
  std::map<std::string, std::string> facts_;
  std::vector<LimitFact> limits_;  // what limited the devices' memory, in order
  uint64_t left_out_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_MARK_LOG_H_
