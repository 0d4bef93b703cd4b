// Device memory as the threads of a PTX kernel see it.
//
// Idea: rules hold for whole blocks and pages, so an address is looked up once for all that lies
// around it. What was written is kept, coarsely joined, because the marks of what was left out
// must follow it when the launch has ended.
//
// Ownership: borrows the state. Threads: the driver's lock. Errors: no window. Units: bytes.
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

  // Somebody left out what was read: that one; null: nobody did.
  const char* origin() const { return origin_; }
  // What was written since it began, joined where that is much: first byte and end of each.
  const std::vector<std::pair<uint64_t, uint64_t>>& written() const { return written_; }
  // As if [address, address + bytes) had been written.
  void AddWritten(uint64_t address, uint64_t bytes) {
    written_.emplace_back(address, address + bytes);
  }
  // The launch has ended: what it wrote is what it should be, or, because of `by`, is not.
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
