// A network card as the stand-ins for libibverbs and NCCL implement it: it retains the simulated
// physical memory of a region, and writes to that memory even if the addresses have other memory by
// now.
#ifndef VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_NETWORK_H_
#define VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_NETWORK_H_

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace vramstow::network {

struct Region {
  int descriptor = -1;
  int version = 0;
  int references = 1;
  uint64_t address = 0;
  size_t size = 0;
};

// Settings that the test makes in the library, and counts that the library makes for the test.
struct Control {
  int calls = 0;          // requested registrations
  int fails_at = 0;       // which of the next registrations fails; 0 for none
  bool keeps = false;     // the end of a registration fails
  uint64_t last[5] = {};  // the arguments of the last registration
  int (*write)(void* region, size_t offset, const void* bytes, size_t size) = nullptr;
  int (*version)(void* region) = nullptr;
};

template <typename Function>
Function OfSimulator(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(driver, name));
}

inline int Write(void* region, size_t offset, const void* bytes, size_t size) {
  const auto write =
      OfSimulator<int (*)(int, uint64_t, const void*, size_t)>("vramstowSimulatorWriteRegistered");
  return write == nullptr ? -1
                          : write(static_cast<Region*>(region)->descriptor, offset, bytes, size);
}

inline int Version(void* region) { return static_cast<Region*>(region)->version; }

// Registers memory with the card. Returns null and sets errno if the card cannot access the memory.
inline Region* Register(Control* control, void* address, size_t size, int version) {
  ++control->calls;
  if (control->fails_at != 0 && --control->fails_at == 0) {
    errno = EIO;
    return nullptr;
  }
  const auto add = OfSimulator<int (*)(uint64_t, size_t, int*)>("vramstowSimulatorRegister");
  int descriptor = -1;
  const auto at = reinterpret_cast<uint64_t>(address);
  if (add == nullptr || add(at, size, &descriptor) != 0) {
    errno = EFAULT;
    return nullptr;
  }
  return new Region{descriptor, version, 1, at, size};
}

// Ends a registration. Returns 0 or an errno number.
inline int End(const Control& control, void* region) {
  if (control.keeps) return EBUSY;
  close(static_cast<Region*>(region)->descriptor);
  delete static_cast<Region*>(region);
  return 0;
}

}  // namespace vramstow::network

#endif  // VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_NETWORK_H_
