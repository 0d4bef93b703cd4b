// TraceEventsVisitor finds the events of a Chrome trace (JSON) in both of its layouts.
//
// Idea: a trace is either an object whose list "traceEvents" has the events, or that list alone.
// Derived classes ask for the depth within an event, which is the same in both layouts.
//
// Use: derive, and override EventBegins and EventEnds in addition to Number and Text of
// JsonVisitor. Ownership, threads, errors: as JsonVisitor. Units: none. Source of the format: the
// Trace Event Format that Chrome's tracing documents.
#ifndef VRAMSTOW_TOOLS_FORMATS_TRACE_EVENTS_H_
#define VRAMSTOW_TOOLS_FORMATS_TRACE_EVENTS_H_

#include "tools/formats/json_walk.h"

namespace vramstow {

class TraceEventsVisitor : public JsonVisitor {
 public:
  void Begin(bool is_object) final {
    if (!in_list()) OutsideBegins();
    if (depth() == 1 && !is_object) list_depth_ = 1;
    if (depth() == 2 && !is_object && key(1) == "traceEvents") list_depth_ = 2;
    if (within() != 1 || !is_object) return;
    in_event_ = true;
    EventBegins();
  }

  void End() final {
    if (within() == 1 && in_event_) {
      in_event_ = false;
      EventEnds();
    }
    if (depth() == list_depth_) list_depth_ = 0;
  }

 protected:
  virtual void EventBegins() = 0;
  virtual void EventEnds() = 0;
  // Called at the beginning of a list or object outside the list of events.
  virtual void OutsideBegins() {}

  bool in_list() const { return list_depth_ != 0; }
  // Returns the depth within an event: 1 for its members, 2 for members of its "args", 0 outside
  // all events.
  int within() const { return in_list() ? depth() - list_depth_ : 0; }

 private:
  bool in_event_ = false;  // false inside a list among the events
  int list_depth_ = 0;     // depth of the list of events; 0: not in it
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_TRACE_EVENTS_H_
