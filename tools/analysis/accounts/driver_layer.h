// DriverLayer: follows the events of the driver: blocks by address, physical memory by handle,
// reserved addresses with their mappings, and contexts.
//
// Ownership: keeps copies; the objects given to the constructor outlive it. Threads: used by one
// thread at a time. Errors: an event that contradicts the earlier ones is counted separately. A
// level never changes by bytes whose allocation was not seen. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_LAYER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_LAYER_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/custom_allocator_segments.h"
#include "tools/analysis/accounts/driver_memory.h"
#include "tools/analysis/accounts/failures.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/accounts/memory_looks.h"
#include "tools/analysis/accounts/pool_segments.h"
#include "tools/analysis/accounts/provisional_frees.h"
#include "tools/analysis/accounts/refusals.h"

namespace vramstow {

class DriverLayer {
 public:
  DriverLayer(Accounts* accounts, FreeSpace* space, PoolSegments* segments, Failures* failures,
              MemoryLooks* looks)
      : accounts_(*accounts),
        space_(*space),
        segments_(*segments),
        failures_(*failures),
        looks_(*looks),
        memory_(accounts, space),
        holding_(accounts, &memory_),
        refusals_(accounts, space, segments, &memory_, &frees_) {}

  void Add(const Event& event);
  // Ends a block that may have been freed by an event that is missing.
  void Lose(uint64_t address, MemoryKind memory);

  // Notes that a framework allocates a block of device memory.
  void NoteTensor(const Event& event) { holding_.NoteTensor(event); }

  // True if a call of the driver was seen.
  bool any() const { return any_; }
  const DriverMemory& memory() const { return memory_; }

 private:
  void Apply(const Event& event);
  void AddAllocate(const Event& event);
  void AddFree(const Event& event);
  void ReleaseHandle(const Event& event, ProvisionalFree* free);
  void RemoveBlock(const Event& event, ProvisionalFree* free);
  void AddRegister(const Event& event);
  void AddImport(const Event& event);
  void AddHandle(const Event& event, const LiveBlock& block);
  void AddMap(const Event& event);
  void AddUnmap(const Event& event);
  void AddUnreserve(const Event& event);
  void ForgetMapping(const Mapping& mapping, RemovedMapping* removed);
  void AddContextEnd(const Event& event);
  void DropContext(int16_t device);

  Accounts& accounts_;
  FreeSpace& space_;
  PoolSegments& segments_;
  Failures& failures_;
  MemoryLooks& looks_;
  DriverMemory memory_;
  CustomAllocatorSegments holding_;
  ProvisionalFrees frees_;
  Refusals refusals_;
  // The number of live contexts of each device. Contexts whose creation was not seen do not count.
  absl::flat_hash_map<int16_t, int64_t> contexts_;
  bool any_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_DRIVER_LAYER_H_
