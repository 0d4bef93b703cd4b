// Driver: the driver functions that are timed, from a library that is opened by its name, and a
// clock.
//
// Ownership: the library stays open. Threads: one. Errors: the first call that fails is stored as
// one sentence, and Good() is false from then on. Units: nanoseconds.
#ifndef VRAMSTOW_TESTS_CARD_TIMES_DRIVER_H_
#define VRAMSTOW_TESTS_CARD_TIMES_DRIVER_H_

#include <cuda.h>

#include <cstdint>
#include <string>

#include "tests/card/times/driver_times.h"

namespace vramstow::card {

// clang-format off
#define VRAMSTOW_TIMED_FUNCTIONS(X) \
  X(cuInit) \
  X(cuDeviceGet) \
  X(cuDeviceGetName) \
  X(cuDeviceGetAttribute) \
  X(cuDevicePrimaryCtxRetain) \
  X(cuDevicePrimaryCtxRelease) \
  X(cuCtxSetCurrent) \
  X(cuMemAlloc) \
  X(cuMemFree) \
  X(cuMemHostAlloc) \
  X(cuMemFreeHost) \
  X(cuMemAddressReserve) \
  X(cuMemAddressFree) \
  X(cuMemCreate) \
  X(cuMemRelease) \
  X(cuMemMap) \
  X(cuMemUnmap) \
  X(cuMemSetAccess) \
  X(cuMemcpyAsync) \
  X(cuStreamCreate) \
  X(cuStreamDestroy) \
  X(cuStreamSynchronize)
// clang-format on

class Driver {
 public:
  bool Open(const char* library);
  // Stores the first failure; returns true if this call succeeded.
  bool Good(CUresult result, const char* call);
  bool Good() const { return error_.empty(); }
  const std::string& error() const { return error_; }

  TimeSource source() const { return source_; }
  uint64_t Now() const;

#define VRAMSTOW_TIMED_FUNCTION(name) decltype(&::name) name = nullptr;
  VRAMSTOW_TIMED_FUNCTIONS(VRAMSTOW_TIMED_FUNCTION)
#undef VRAMSTOW_TIMED_FUNCTION

 private:
  void FindClock();

  void* library_ = nullptr;
  std::string error_;
  TimeSource source_ = TimeSource::kCard;
  uint64_t (*simulated_time_)() = nullptr;
};

}  // namespace vramstow::card

#endif  // VRAMSTOW_TESTS_CARD_TIMES_DRIVER_H_
