// EventList is the result of reading a file in a foreign format: its events in order, and what the
// file lacks.
//
// Ownership: a value. Threads: const calls are safe from any thread. Errors: none. Units: bytes,
// nanoseconds.
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
  std::vector<Event> events;                  // sequence from 1, times never decrease
  std::vector<std::string> calls{"unknown"};  // by Event::call: the format's word for the action
  std::map<std::string, std::string> facts;   // named as in docs/contracts.md
  std::vector<std::string> texts;             // texts of marks, by TextNumber
  std::vector<std::string> missing;           // one sentence each
  // Maps the Event::sequence of an event to the bytes that are reserved on its device after the
  // event. Has no entry for an event for which the file does not have this number.
  absl::flat_hash_map<uint64_t, uint64_t> reserved;
  bool complete = true;  // false: damaged, with only what was readable

  std::string_view CallName(uint16_t call) const {
    return call < calls.size() ? std::string_view(calls[call]) : "unknown";
  }
  // Returns the number of the call with this name. If the name is new, adds it.
  uint16_t Call(std::string_view name);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_EVENT_LIST_H_
