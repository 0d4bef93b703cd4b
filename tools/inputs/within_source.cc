#include "tools/inputs/within_source.h"

#include "base/typed_event.h"

namespace vramstow {

bool WithinSource::Next(Event* event) {
  while (source_->Next(event)) {
    const bool was_open = depth_ > 0;
    if (event->kind == EventKind::kMark && source_->MarkText(*event) == name_) {
      const MarkKind kind = MarkEvent::Of(*event).kind;
      if (kind == MarkKind::kRangeBegins) {
        ++depth_;
        found_ = true;
      } else if (kind == MarkKind::kRangeEnds && depth_ > 0) {
        --depth_;
      }
    }
    if (was_open || depth_ > 0) return true;
  }
  return false;
}

}  // namespace vramstow
