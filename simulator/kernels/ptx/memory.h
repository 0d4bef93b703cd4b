// Memory is the device memory that the threads of one launch access.
//
// Idea: a subclass returns a window of memory around an address in which the same access rights
// hold, so that most accesses need no look-up.
//
// Ownership: the subclass owns its data. Threads: one launch, one thread. Errors: returns null.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_MEMORY_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_MEMORY_H_

#include <cstdint>

namespace vramstow::simulator::ptx {

class Memory {
 public:
  virtual ~Memory() = default;

  // Returns the host pointer to [address, address + bytes), or null if it must not be accessed.
  char* At(uint64_t address, uint64_t bytes, bool write) {
    Window& latest = latest_[write ? 1 : 0];
    const uint64_t inside = address - latest.address;
    char* found = nullptr;
    if (inside < latest.bytes && bytes <= latest.bytes - inside) {
      found = latest.host + inside;
    } else {
      const Window window = Find(address, bytes, write);
      if (window.host == nullptr) return nullptr;
      latest = window;
      found = window.host + (address - window.address);
    }
    Note(address, bytes, write);
    return found;
  }

  // True if no further access is allowed, so that the launch must end.
  bool refused() const { return refused_; }

 protected:
  struct Window {
    uint64_t address = 0;
    uint64_t bytes = 0;
    char* host = nullptr;  // null: no valid memory
  };
  // Returns a window around [address, address + bytes) in which all memory has the same access
  // rights.
  virtual Window Find(uint64_t address, uint64_t bytes, bool write) = 0;
  // Is called for each access that was allowed.
  virtual void Note(uint64_t address, uint64_t bytes, bool write) = 0;
  void Refuse() { refused_ = true; }

 private:
  Window latest_[2];  // the last window for reading, and for writing
  bool refused_ = false;
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_MEMORY_H_
