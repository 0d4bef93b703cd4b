// EventBatch: consecutive events of a source, with their call stacks, texts and reserved bytes.
//
// Ownership: keeps its own copies; texts live as long as the source. Threads: a plain value without
// synchronisation. Errors: none. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_BATCH_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_BATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/event.h"

namespace vramstow {

// True if EventSource::MarkText has a text for the event.
inline bool HasText(const Event& event) {
  return event.kind == EventKind::kMark || event.kind == EventKind::kLaunch;
}

struct EventBatch {
  // The number of events that one thread hands to another at once: large enough to make the cost of
  // the hand-over negligible, small enough that a few batches fit into a cache.
  static constexpr size_t kMax = 1024;

  std::array<Event, kMax> events;  // Event::stack is a number of the source's
  size_t count = 0;
  std::vector<std::pair<size_t, std::string_view>> texts;  // index of the event, its text
  // The reserved bytes after certain events, with the index of each event.
  std::vector<std::pair<size_t, uint64_t>> reserved;

  void Clear() {
    count = 0;
    texts.clear();
    reserved.clear();
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_BATCH_H_
