#include "interpose/core/pools/pool_driver.h"

#include <atomic>
#include <new>

#include "allocator/core/cuda_driver.h"
#include "allocator/core/host_memory.h"
#include "interpose/core/pools/host_answer.h"
#include "interpose/core/pools/live_streams.h"
#include "interpose/core/record/model_clock.h"
#include "interpose/core/runtime/contexts.h"
#include "interpose/core/runtime/real_functions.h"

namespace vramstow {
namespace {

void* Resolve(void* real, const char* name) {
  return RealFunction(*static_cast<const Driver*>(real), name);
}

// Returns the clock of a simulated GPU, if it has one, so that durations are in the GPU's time. A
// forked child has no such clock; its time does not advance.
CudaDriver::CardClock CardClockOf(const Driver& real) {
  uint64_t now_ns = 0;
  if (!ReadModelTime(real, &now_ns)) return {};
  const auto now = [](const void* of) -> uint64_t {
    static constinit std::atomic<uint64_t> last_ns{0};
    uint64_t time_ns = 0;
    if (!ReadModelTime(*static_cast<const Driver*>(of), &time_ns)) {
      return last_ns.load(std::memory_order_relaxed);
    }
    last_ns.store(time_ns, std::memory_order_relaxed);
    return time_ns;
  };
  const auto pass = [](const void* of, uint64_t nanoseconds) {
    PassModelTime(*static_cast<const Driver*>(of), nanoseconds);
  };
  return {now, pass, &real};
}

}  // namespace

bool MakePoolDriver(const Driver& real, int device, void* context, PoolDriver* made,
                    const char** missing) {
  void* memory = AllocateHostMemory(sizeof(CudaDriver));
  if (memory == nullptr) return false;
  made->driver = new (memory) CudaDriver;
  made->table = made->driver->table();
  return RenewPoolDriver(real, *made, device, context, missing);
}

bool RenewPoolDriver(const Driver& real, const PoolDriver& driver, int device, void* context,
                     const char** missing) {
  const bool complete = driver.driver->Open(Resolve, const_cast<Driver*>(&real), device,
                                            static_cast<CUcontext>(context));
  driver.driver->SetCardClock(CardClockOf(real));
  driver.driver->SetHostMapping(HostMappingOf(real, device));
  *missing = driver.driver->missing();
  return complete;
}

void SetOtherContexts(const PoolDriver& driver, const Contexts* contexts) {
  const auto at = [](const void* list, uint32_t number, CUcontext* context, int* device) {
    return static_cast<const Contexts*>(list)->At(number, context, device);
  };
  driver.driver->SetOtherContexts({at, contexts, Contexts::kRoom});
}

void SetStreamRecord(const PoolDriver& driver, const LiveStreams* streams) {
  const auto find = [](const void* record, uint64_t stream, const void** context) {
    return static_cast<const LiveStreams*>(record)->Find(stream, context);
  };
  driver.driver->SetStreamRecord({find, streams});
}

void ForgetContext(const PoolDriver& driver) { driver.driver->ForgetContext(); }

void AddPeer(const PoolDriver& driver, int peer) { driver.driver->AddPeer(peer); }

}  // namespace vramstow
