// A stand-in for NCCL. Its registration returns the same handle for a part of a registered range;
// its collectives record their arguments.
#include <type_traits>

#include "tests/interpose/programs/collective_calls.h"
#include "tests/interpose/programs/network.h"

#define NCCL_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using vramstow::network::Control;
using vramstow::network::Region;

Control control;
constexpr int kMax = 16;
Region* known[kMax] = {};
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

vramstow::collectives::StandInCall call_record;

template <typename Argument>
uint64_t Number(Argument argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    return reinterpret_cast<uint64_t>(argument);
  } else {
    return static_cast<uint64_t>(argument);
  }
}

template <typename... Arguments>
int Collect(const char* name, Arguments... arguments) {
  call_record.errno_at_call = errno;
  call_record.name = name;
  call_record.count = 0;
  ((call_record.arguments[call_record.count++] = Number(arguments)), ...);
  if (call_record.inside != nullptr) call_record.inside();
  errno = call_record.errno_after;
  return call_record.result;
}

}  // namespace

NCCL_EXPORT vramstow::collectives::StandInCall* StandInCallRecord() { return &call_record; }

#define WITHOUT_BRACKETS(...) __VA_ARGS__
#define COLLECTIVE(name, parameters, arguments) \
  NCCL_EXPORT int name parameters { return Collect(#name, WITHOUT_BRACKETS arguments); }
COLLECTIVES(COLLECTIVE, COLLECTIVE)
#undef COLLECTIVE
#define GROUP(name) \
  NCCL_EXPORT int name() { return Collect(#name); }
COLLECTIVE_GROUPS(GROUP)
#undef GROUP

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
