#include "tools/inputs/within_source.h"

#include <vector>

#include "base/typed_event.h"

namespace vramstow {
namespace {

// The kinds of events by which memory comes and goes. Those of one row belong together.
struct Kinds {
  EventKind begin;
  EventKind end;
};
constexpr Kinds kKinds[] = {{EventKind::kAllocate, EventKind::kFree},
                            {EventKind::kReserve, EventKind::kUnreserve},
                            {EventKind::kMap, EventKind::kUnmap},
                            {EventKind::kRegister, EventKind::kUnregister},
                            {EventKind::kImport, EventKind::kCloseImport},
                            {EventKind::kAllocate, EventKind::kFreeCompleted}};

const Kinds* ThatBeginsWith(EventKind kind) {
  for (const Kinds& kinds : kKinds) {
    if (kinds.begin == kind) return &kinds;
  }
  return nullptr;
}

const Kinds* ThatEndsWith(EventKind kind) {
  for (const Kinds& kinds : kKinds) {
    if (kinds.end == kind) return &kinds;
  }
  return nullptr;
}

}  // namespace

WithinSource::Place WithinSource::PlaceOf(const Event& event, EventKind begin) {
  return {begin, event.layer, event.address};
}

void WithinSource::NoteInside(const Event& event) {
  if (const Kinds* kinds = ThatBeginsWith(event.kind); kinds != nullptr && event.result == 0) {
    made_.insert(PlaceOf(event, kinds->begin));
  }
}

void WithinSource::NoteOutside(const Event& event) {
  if (const Kinds* kinds = ThatBeginsWith(event.kind); kinds != nullptr && event.result == 0) {
    made_.erase(PlaceOf(event, kinds->begin));  // now it is memory from outside of the ranges
    return;
  }
  const Kinds* const kinds = ThatEndsWith(event.kind);
  if (kinds != nullptr && made_.contains(PlaceOf(event, kinds->begin))) gone_.push_back(event);
}

bool WithinSource::NextGone(Event* event) {
  if (next_gone_ == gone_.size()) return false;
  *event = gone_[next_gone_++];
  return true;
}

bool WithinSource::Next(Event* event) {
  if (begin_.has_value()) {
    if (NextGone(event)) return true;
    *event = *begin_;
    begin_.reset();
    gone_.clear();
    next_gone_ = 0;
    return true;
  }
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
    if (!was_open && depth_ == 0) {
      NoteOutside(*event);
      continue;
    }
    NoteInside(*event);
    if (was_open || gone_.empty()) return true;
    begin_ = *event;
    return Next(event);
  }
  return false;
}

bool WithinSource::Rewind() {
  depth_ = 0;
  made_.clear();
  gone_.clear();
  next_gone_ = 0;
  begin_.reset();
  return source_->Rewind();
}

}  // namespace vramstow
