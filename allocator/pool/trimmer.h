// Trimmer: takes cached memory from heaps, and gives it back to the device.
//
// Ownership: none. Threads: as each function says. Errors: none; what the driver refuses stays.
// Units: bytes; chunks.
#ifndef VRAMSTOW_ALLOCATOR_POOL_TRIMMER_H_
#define VRAMSTOW_ALLOCATOR_POOL_TRIMMER_H_

#include <cstdint>

#include "allocator/pool/attempt.h"
#include "allocator/pool/parts.h"

namespace vramstow {

class Trimmer {
 public:
  void Open(PoolParts* parts) { parts_ = parts; }

  // Chunks that are in use nowhere go back to the device. Returns how many.
  uint64_t ReleaseIdle(uint64_t chunks) VRAMSTOW_REQUIRES(kDeviceLock);
  // Up to so many free pages of all heaps, freed in the epoch `before_epoch` or earlier, go to the
  // store; free segments to the device, with `no_more` only such as are not larger than what is
  // left. *waits (may be null): some memory would be free but for work that has not finished.
  uint64_t StripAll(uint64_t chunks, uint32_t before_epoch, bool* waits = nullptr,
                    bool no_more = false) VRAMSTOW_REQUIRES(kDeviceLock);
  // The same of all heaps but the attempt's own.
  uint64_t StripOthers(const AllocationAttempt* attempt, uint64_t count, uint32_t before_epoch)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // Without the device's lock. Gives back up to request.bytes, of which `released` chunks went back
  // just before (ReleaseIdle); hooks are not run.
  TrimResult Trim(const TrimRequest& request, uint64_t released = 0);
  // What decay and watermark ask for. Gives back how many bytes went.
  uint64_t Maintain();

 private:
  uint64_t GiveBack(uint64_t chunks, uint32_t before_epoch, bool no_more, bool* waits)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t TrimOnce(uint64_t chunks, bool* waits) VRAMSTOW_REQUIRES(kDeviceLock);

  PoolParts* parts_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_TRIMMER_H_
