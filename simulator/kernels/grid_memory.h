// GridMemory gives the threads of a PTX kernel access to device memory.
//
// Idea: access rights hold for whole blocks and pages, so one look-up of an address returns a
// window of memory around it. Written ranges are recorded and roughly merged. When the launch has
// ended, these ranges are marked as computed or not computed.
//
// Ownership: borrows the state. Threads: the caller holds the driver's lock. Errors: returns an
// empty window. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_GRID_MEMORY_H_
#define VRAMSTOW_SIMULATOR_KERNELS_GRID_MEMORY_H_

#include <utility>
#include <vector>

#include "simulator/driver/state.h"
#include "simulator/kernels/ptx/memory.h"

namespace vramstow::simulator {

class GridMemory : public ptx::Memory {
 public:
  GridMemory(State* state, const Context* context) : state_(state), context_(context) {}

  // The kernel that should have computed memory which this launch read, and did not compute it.
  // Null if all memory that was read was computed.
  const char* origin() const { return origin_; }
  // The first byte and the end of each range that was written so far; many ranges are merged.
  const std::vector<std::pair<uint64_t, uint64_t>>& written() const { return written_; }
  // Records [address, address + bytes) as written.
  void AddWritten(uint64_t address, uint64_t bytes) {
    written_.emplace_back(address, address + bytes);
  }
  // Ends the launch: marks the memory that it wrote as not computed because of kernel `by`, or as
  // computed if `by` is null.
  void Conclude(const char* by);

 protected:
  Window Find(uint64_t address, uint64_t bytes, bool write) override;
  void Note(uint64_t address, uint64_t bytes, bool write) override;

 private:
  Window FindHost(uint64_t address, uint64_t bytes) const;
  static Window FindPageable(uint64_t address, uint64_t bytes);
  void Join();

  State* state_;
  const Context* context_;
  const char* origin_ = nullptr;
  std::vector<std::pair<uint64_t, uint64_t>> written_;  // first byte, end
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_GRID_MEMORY_H_
