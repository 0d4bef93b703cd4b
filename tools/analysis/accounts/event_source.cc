#include "tools/analysis/accounts/event_source.h"

#include "tools/analysis/accounts/event_batch.h"

namespace vramstow {

void EventSource::Fill(EventBatch* batch) {
  while (batch->count < EventBatch::kMax) {
    Event* event = &batch->events[batch->count];
    if (!Next(event)) return;
    event->stack = Stack();
    if (HasText(*event)) batch->texts.emplace_back(batch->count, MarkText(*event));
    if (const std::optional<uint64_t> reserved = Reserved()) {
      batch->reserved.emplace_back(batch->count, *reserved);
    }
    ++batch->count;
  }
}

}  // namespace vramstow
