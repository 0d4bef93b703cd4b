// RunEnds: which exceptions ended the Python programs of a run, told to the run itself.
//
// Idea: the start-up hook marks the exception in the trace. Where the disk of the trace is full,
// that is lost, so that it also writes it into a file in memory that the run holds open.
//
// Ownership: the file. Threads: one at a time. Errors: without such a file nothing is told. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_RUN_ENDS_H_
#define VRAMSTOW_TOOLS_LAUNCH_RUN_ENDS_H_

#include <map>
#include <string>

#include "base/descriptor.h"
#include "tools/launch/environment.h"

namespace vramstow {

class RunEnds {
 public:
  // Names the file to the processes that get this environment.
  explicit RunEnds(Environment* environment);
  // By the id of the process: the class of the exception that nobody caught.
  std::map<std::string, std::string> Uncaught() const;

 private:
  Descriptor file_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_RUN_ENDS_H_
