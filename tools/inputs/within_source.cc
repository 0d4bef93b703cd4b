#include "tools/inputs/within_source.h"

#include "tracer/format/layout.h"

namespace vramstow {

bool WithinSource::Next(Event* event) {
  while (source_->Next(event)) {
    const bool was_open = depth_ > 0;
    if (event->kind == EventKind::kMark && source_->MarkText(*event) == name_) {
      if (event->offset == kMarkBegins) {
        ++depth_;
        found_ = true;
      } else if (event->offset == kMarkEnds && depth_ > 0) {
        --depth_;
      }
    }
    if (was_open || depth_ > 0) return true;
  }
  return false;
}

}  // namespace vramstow
