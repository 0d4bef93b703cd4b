// Reads the log of RMM's logging_resource_adaptor (CSV).
//
// Idea: each line is an event at the framework layer: "allocate", "free" or "deallocate", "allocate
// failure". The time is either seconds since 1970, as RMM's guide shows it, or the time of day
// without a date; if that jumps back by half a day, midnight has passed.
//
// Ownership: the result owns its data. Threads: no shared state. Errors: kInvalidArgument for a
// file without RMM's columns. Lines that cannot be read are counted, and the first is named. Units:
// bytes, nanoseconds since the first line.
// Source of the format: RMM's documentation of its logging and replay benchmark:
// `Thread,Time,Action,Pointer,Size,Stream`.
#ifndef VRAMSTOW_TOOLS_FORMATS_RMM_LOG_H_
#define VRAMSTOW_TOOLS_FORMATS_RMM_LOG_H_

#include "absl/status/statusor.h"
#include "tools/formats/event_list.h"
#include "tools/formats/input.h"

namespace vramstow {

absl::StatusOr<EventList> ReadRmmLog(const Input& input);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_RMM_LOG_H_
