// Makes the name of a process's trace, for example "train-1125-2303-4711". It consists of the
// script, the day and time of its start, and the process number.
//
// Idea: the program's name, "python3.11", does not help a user to find the trace of a training. So
// the name is taken from the script or module in Python's command line.
//
// Ownership: the caller's buffers. Threads: any. Errors: if no script is found, the program's name
// is used. No heap. Units: seconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_NAME_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_NAME_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow {

// Returns the script or module that a command line of Python runs, without its folder and ".py";
// empty if the arguments name neither. `arguments` has the format of /proc/PID/cmdline.
std::string_view ScriptOf(std::string_view arguments);

struct TraceName {
  std::string_view program = {};
  bool is_shown = true;        // if the name may contain the script
  const char* rank = nullptr;  // null if the job has only one process
  int64_t time = 0;            // seconds since 1970, UTC
  int64_t utc_offset = 0;
  long process = 0;
};

// Writes the name without its folder and ".stow". A script's name that is too long is cut.
void WriteTraceName(const TraceName& name, std::string_view arguments, char* stem, size_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_NAME_H_
