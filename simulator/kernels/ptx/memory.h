// Device memory, as the threads of one launch see it.
//
// Idea: whoever knows the memory says how far around an address the same rules hold, so that most
// accesses ask nobody.
//
// Ownership: the implementer's. Threads: one launch, one thread. Errors: null. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_MEMORY_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_MEMORY_H_

#include <cstdint>

namespace vramstow::simulator::ptx {

class Memory {
 public:
  virtual ~Memory() = default;

  // Where [address, address + bytes) lies in this process; null if it must not be touched.
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

  // No access will be allowed any more: the launch is to end.
  bool refused() const { return refused_; }

 protected:
  struct Window {
    uint64_t address = 0;
    uint64_t bytes = 0;
    char* host = nullptr;  // null: no such memory
  };
  // What holds for all of [address, address + bytes) and as much around it as is known to be alike.
  virtual Window Find(uint64_t address, uint64_t bytes, bool write) = 0;
  // Each access that was allowed.
  virtual void Note(uint64_t address, uint64_t bytes, bool write) = 0;
  void Refuse() { refused_ = true; }

 private:
  Window latest_[2];  // for reading, for writing
  bool refused_ = false;
};

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_MEMORY_H_
