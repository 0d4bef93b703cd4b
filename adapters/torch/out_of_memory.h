// OutOfMemory handles a request for which the pool has no memory.
//
// Idea: the message begins with PyTorch's own words, because scripts look for them; the pool's
// figures follow.
//
// Ownership: retains the observers for the life of the process. Threads: any; observers run in the
// thread whose request failed, without a lock. Errors: Raise() throws c10::OutOfMemoryError. Units:
// bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OUT_OF_MEMORY_H_
#define VRAMSTOW_ADAPTERS_TORCH_OUT_OF_MEMORY_H_

#include <vector>

#include "adapters/torch/device.h"
#include "adapters/torch/history.h"

namespace vramstow::torch_adapter {

class OutOfMemory {
 public:
  OutOfMemory(const vramstow_framework* table, History* history)
      : table_(table), history_(history) {}

  void AddObserver(OutOfMemoryObserver observer);
  // Counts and records the failure, calls the observers, and throws.
  [[noreturn]] void Raise(const Request& request);

 private:
  // Reports the failure to the trace.
  void Report(const Request& request) const;
  vramstow_framework_shortage Describe(const Request& request) const;
  void CallObservers(const Request& request, uint64_t total_bytes, uint64_t free_bytes);

  const vramstow_framework* const table_;
  History* const history_;
  Mutex mutex_;  // nothing is called while it is held
  std::vector<OutOfMemoryObserver> observers_ VRAMSTOW_GUARDED_BY(mutex_);
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_OUT_OF_MEMORY_H_
