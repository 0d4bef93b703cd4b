// TurnLog: when this process had its turn on each GPU that it shares with other processes, and when
// it waited (`vramstow run --share`).
//
// Idea: each change of the state is a mark with the text "vramstow.share STATE DEVICE"
// (docs/trace-format.md). After kMax changes the state is that of a process that runs.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: malformed marks
// are ignored. Units: events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_TURN_LOG_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_TURN_LOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/share_state.h"
#include "tools/analysis/facts/mark_text.h"

namespace vramstow {

// The state from this event until the next change on the same device.
struct TurnChange {
  uint64_t event = 0;
  int device = 0;
  ShareState state = ShareState::kRuns;
};

class TurnLog {
 public:
  static constexpr size_t kMax = 20'000;

  // Adds the text of a mark, the `number`th of all events. Returns false if it reports no turn.
  bool Add(std::string_view text, uint64_t number) {
    constexpr std::string_view kShare = "vramstow.share ";
    if (!text.starts_with(kShare)) return false;
    text.remove_prefix(kShare.size());
    const std::string_view name = CutPart(&text, ' ');
    const auto* const state = std::ranges::find(kShareStateNames, name);
    TurnChange change{.event = number};
    if (state == std::end(kShareStateNames) || !ReadNumber(text, &change.device)) return true;
    change.state = static_cast<ShareState>(state - std::begin(kShareStateNames));
    if (changes_.size() < kMax) {
      changes_.push_back(change);
    } else if (!is_full_) {
      EndAll(number);
    }
    return true;
  }

  std::vector<TurnChange> Take() { return std::move(changes_); }

 private:
  // Ends the last state of each device, because later changes are not kept.
  void EndAll(uint64_t number) {
    is_full_ = true;
    std::set<int> devices;
    for (const TurnChange& change : changes_) devices.insert(change.device);
    for (const int device : devices) changes_.push_back({number, device, ShareState::kRuns});
  }

  std::vector<TurnChange> changes_;
  bool is_full_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_TURN_LOG_H_
