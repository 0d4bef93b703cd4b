// EventBatch: some events of a source, in order, with what it says beside them.
//
// Ownership: copies; texts live as long as the source. Threads: a value. Errors: none. Units:
// bytes.
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

// Whether an event has a text, which EventSource::MarkText knows.
inline bool HasText(const Event& event) {
  return event.kind == EventKind::kMark || event.kind == EventKind::kLaunch;
}

struct EventBatch {
  // The events that two processors hand over at once: large enough that handing over costs nothing,
  // small enough that a few of them stay in a cache.
  static constexpr size_t kMax = 1024;

  std::array<Event, kMax> events;  // Event::stack is a number of the source's
  size_t count = 0;
  std::vector<std::pair<size_t, std::string_view>> texts;  // which event, what it says
  std::vector<std::pair<size_t, uint64_t>> reserved;       // after which event, how much

  void Clear() {
    count = 0;
    texts.clear();
    reserved.clear();
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_BATCH_H_
