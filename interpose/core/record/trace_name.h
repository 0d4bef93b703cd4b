// TraceName: what a process's trace is called, "train-1125-2303-4711": the script, the day and
// time at which it began, and the process.
//
// Idea: "python3.11" says nothing to who looks for the trace of a training, so that Python's
// command line is asked for its script, or its module.
//
// Ownership: the caller's buffers. Threads: any. Errors: where no script is found the program's
// name stands for it. No heap. Units: seconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_NAME_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_NAME_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow {

// The script or module that a command line of Python runs, without its folder and ".py". Empty:
// it runs neither, or is no command line. `arguments` are as /proc/PID/cmdline has them.
std::string_view ScriptOf(std::string_view arguments);

struct TraceName {
  std::string_view program = {};
  bool is_shown = true;        // whether the trace may say what the program runs
  const char* rank = nullptr;  // null: it is none of many
  int64_t time = 0;            // since 1970, UTC
  int64_t utc_offset = 0;
  long process = 0;
};

// Writes the name without its folder and ".stow"; a script's name that is too long is cut.
void WriteTraceName(const TraceName& name, std::string_view arguments, char* stem, size_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_TRACE_NAME_H_
