// Calls CUPTI for activity.h: its functions, buffers and records. This is a separate file, because
// CUPTI's headers and cuda_abi.h cannot be included together.
//
// Ownership: static; buffers for records are mapped, and reused. Threads: StartCupti and EndCupti
// one after the other; the listener is called by any thread. Errors: CuptiStart. No heap. Units:
// bytes; nanoseconds of Unix time.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_CUPTI_CLIENT_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_CUPTI_CLIENT_H_

#include <cstdint>

#include "base/event.h"
#include "interpose/shim/seam.h"

namespace vramstow {

// A record of CUPTI about one kernel, copy or fill.
struct CuptiWork {
  const char* text;
  int device;
  uint64_t stream;  // CUPTI's stream number
  uint32_t correlation;
  uint64_t bytes;
  uint64_t duration_ns;
  uint64_t start_unix_ns;
};

struct CuptiMemory {
  bool gives;  // true for an allocation, false for a free
  MemoryKind memory;
  int device;
  uint64_t address;
  uint64_t bytes;
  uint32_t correlation;
  uint64_t unix_ns;
};

// The calling thread enters or leaves a call that concerns memory.
struct CuptiCall {
  bool of_runtime;  // a call of the CUDA runtime, otherwise of the driver
  bool enters;
  uint32_t correlation;
};

struct CuptiListener {
  void (*work)(void* context, const CuptiWork& work) = nullptr;
  void (*memory)(void* context, const CuptiMemory& memory) = nullptr;
  void (*call)(const CuptiCall& call) = nullptr;
  void* context = nullptr;
};

enum class CuptiStart {
  kOn,
  kIncomplete,  // on, but without some of the records
  kNoCupti,
  kTaken,  // there is another subscriber
  kFailed,
};

// Subscribes and enables the records. `listener` is copied; its context must live as long as the
// process.
CuptiStart StartCupti(const VramstowShim& shim, const CuptiListener& listener);
// Requests that CUPTI delivers the records that it has now.
void FlushCupti();
// Requests that CUPTI delivers the records that it has now, and unsubscribes.
void EndCupti();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_CUPTI_CLIENT_H_
