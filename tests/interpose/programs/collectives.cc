// A stand-in for NCCL's registration: it gives the same handle for a part of what it knows.
#include "tests/interpose/programs/network.h"

#define NCCL_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using vramstow::network::Control;
using vramstow::network::Region;

Control control;
constexpr int kMost = 16;
Region* known[kMost] = {};
constexpr int kSystemError = 2;

int Register(void* address, size_t size, void** handle) {
  const auto at = reinterpret_cast<uint64_t>(address);
  for (Region* region : known) {
    if (region == nullptr || at < region->address) continue;
    if (at + size > region->address + region->size) continue;
    ++region->references;
    *handle = region;
    return 0;
  }
  Region* region = vramstow::network::Register(&control, address, size, 0);
  if (region == nullptr) return kSystemError;
  for (Region*& place : known) {
    if (place == nullptr) {
      place = region;
      break;
    }
  }
  *handle = region;
  return 0;
}

int Deregister(void* handle) {
  auto* const region = static_cast<Region*>(handle);
  if (control.keeps) return kSystemError;
  if (--region->references != 0) return 0;
  for (Region*& place : known) {
    if (place == region) place = nullptr;
  }
  vramstow::network::End(control, region);
  return 0;
}

}  // namespace

NCCL_EXPORT Control* StandInControl() {
  control.write = vramstow::network::Write;
  control.version = vramstow::network::Version;
  return &control;
}

NCCL_EXPORT int ncclCommRegister(const void*, void* address, size_t size, void** handle) {
  return Register(address, size, handle);
}
NCCL_EXPORT int ncclCommDeregister(const void*, void* handle) { return Deregister(handle); }
NCCL_EXPORT int ncclCommWindowRegister(void*, void* address, size_t size, void** window, int) {
  return Register(address, size, window);
}
NCCL_EXPORT int ncclCommWindowDeregister(const void*, void* window) { return Deregister(window); }
