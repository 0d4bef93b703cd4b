// RunEnds: reports to a run which exceptions ended its Python programs.
//
// Idea: the start-up hook marks the exception in the trace. If the disk of the trace is full, the
// mark is lost, so the hook also writes the exception to a file in memory that the run holds open.
//
// Ownership: owns the file. Threads: used by one thread at a time. Errors: without such a file
// nothing is reported. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_ENDS_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_ENDS_H_

#include <map>
#include <string>

#include "base/descriptor.h"
#include "tools/launch/environment.h"

namespace vramstow {

class RunEnds {
 public:
  // Adds the path of the file to this environment.
  explicit RunEnds(Environment* environment);
  // Maps the id of each process that an uncaught exception ended to the class of the exception.
  std::map<std::string, std::string> Uncaught() const;

 private:
  Descriptor file_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_ENDS_H_
