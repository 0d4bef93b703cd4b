// Probe: runs a command that may crash, hang or print nonsense, and reports how it ended.
//
// Idea: a broken driver or interpreter affects only the child process. The child has no standard
// input; its stdout and stderr are captured separately.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: reported in
// ProbeEnd. Units: milliseconds, bytes.
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
  // Returns a text for a sentence, like "ended with signal 11 (Segmentation fault)".
  std::string Words() const;
};

// Runs the command. If it has no slash, it is searched on the path of this process. The command has
// a process group of its own, and the whole group is killed at the end.
ProbeEnd RunProbe(const std::vector<std::string>& command, Environment environment,
                  uint64_t most_ms);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_PROBE_H_
