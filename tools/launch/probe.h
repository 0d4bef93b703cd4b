// Probe: runs a command that may crash, hang or talk nonsense, and says what became of it.
//
// Idea: what a broken driver or interpreter does to a process, it does to a child. The child has
// no standard input; what it writes to stdout and stderr is kept apart.
//
// Ownership: copies. Threads: one at a time. Errors: told in ProbeEnd. Units: milliseconds, bytes.
#ifndef VRAMSTOW_TOOLS_LAUNCH_PROBE_H_
#define VRAMSTOW_TOOLS_LAUNCH_PROBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/launch/environment.h"

namespace vramstow {

struct ProbeEnd {
  enum class How {
    kExited,      // with exit status `value`
    kKilled,      // by signal `value`
    kTooSlow,     // it was killed after the time was over
    kNotStarted,  // `value` is the errno
  };
  How how = How::kNotStarted;
  int value = 0;
  std::string output;  // the beginning of stdout, and of stderr: at most 64 KiB each
  std::string errors;

  bool ok() const { return how == How::kExited && value == 0; }
  // "ended with signal 11 (Segmentation fault)": for a sentence.
  std::string Words() const;
};

// The command is looked for on the path of this process unless it has a slash. Its process group
// is its own, and is killed with it.
ProbeEnd RunProbe(const std::vector<std::string>& command, Environment environment,
                  uint64_t most_ms);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_PROBE_H_
