// WorkLogScope reports operations to the simulator's work log, and leaves out the copies that
// implement them.
//
// Ownership: retains nothing. Threads: used by the thread that made it. Errors: none; without a log
// nothing is reported. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_WORK_LOG_SCOPE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_WORK_LOG_SCOPE_H_

#include <vector>

#include "simulator/runtime/libraries/nccl/operation.h"

namespace vramstow::simulator {

class WorkLogScope {
 public:
  explicit WorkLogScope(const std::vector<Operation>& operations);
  ~WorkLogScope();
  WorkLogScope(const WorkLogScope&) = delete;
  WorkLogScope& operator=(const WorkLogScope&) = delete;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_WORK_LOG_SCOPE_H_
