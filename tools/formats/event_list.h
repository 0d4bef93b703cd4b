// EventList: what a reader of a foreign format makes of a file: events in order, and what is
// missing.
//
// Ownership: a value. Threads: const calls are free. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_FORMATS_EVENT_LIST_H_
#define VRAMSTOW_TOOLS_FORMATS_EVENT_LIST_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/event.h"

namespace vramstow {

struct EventList {
  std::vector<Event> events;                  // sequence from 1, times that never go back
  std::vector<std::string> calls{"unknown"};  // by Event::call: the format's word for the action
  std::map<std::string, std::string> facts;   // as docs/architecture.md names them
  std::vector<std::string> texts;             // of marks, by TextNumber
  std::vector<std::string> missing;           // one sentence each
  // What is reserved on the event's device after it, by Event::sequence; where the file tells it.
  absl::flat_hash_map<uint64_t, uint64_t> reserved;
  bool complete = true;  // false: damaged, and this is what was readable

  std::string_view CallName(uint16_t call) const {
    return call < calls.size() ? std::string_view(calls[call]) : "unknown";
  }
  // The number of a call's name; a new one if it has none yet.
  uint16_t Call(std::string_view name);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_EVENT_LIST_H_
