// WorkLogScope: tells the simulator's work log of operations, and keeps the copies that stand in
// for them out of it.
//
// Ownership: nothing is kept. Threads: the one that made it. Errors: none; without a log nothing is
// told. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_TOLD_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_TOLD_H_

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

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_TOLD_H_
