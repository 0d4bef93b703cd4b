// Trimmer: moves cached memory of heaps to the pool's store of idle chunks, and releases it to the
// device.
//
// Ownership: none. Threads: as each function says. Errors: none; memory that the driver does not
// release remains in the pool. Units: bytes; chunks.
#ifndef VRAMSTOW_ALLOCATOR_POOL_TRIMMER_H_
#define VRAMSTOW_ALLOCATOR_POOL_TRIMMER_H_

#include <cstdint>

#include "allocator/pool/attempt.h"
#include "allocator/pool/parts.h"

namespace vramstow {

class Trimmer {
 public:
  void Open(PoolParts* parts) { parts_ = parts; }

  // Releases up to `chunks` idle chunks to the device. Returns the number of released chunks.
  uint64_t ReleaseIdle(uint64_t chunks) VRAMSTOW_REQUIRES(kDeviceLock);
  // Moves free pages of all heaps to the store of idle chunks, at most `chunks` of them, and only
  // pages that were freed in the epoch `before_epoch` or earlier. Free segments are released to the
  // device. If `no_more` is true, only segments that are not larger than the rest of `chunks` are
  // released. If `waits` is not null, *waits becomes true if some memory could be freed once
  // unfinished work is done.
  uint64_t StripAll(uint64_t chunks, uint32_t before_epoch, bool* waits = nullptr,
                    bool no_more = false) VRAMSTOW_REQUIRES(kDeviceLock);
  // Does what StripAll does, for all heaps except the one of the attempt.
  uint64_t StripOthers(const AllocationAttempt* attempt, uint64_t count, uint32_t before_epoch)
      VRAMSTOW_REQUIRES(kDeviceLock);

  // Releases up to request.bytes to the device. `released` chunks of them have been released
  // already (ReleaseIdle). It is called without the device's lock and runs no hooks.
  TrimResult Trim(const TrimRequest& request, uint64_t released = 0);
  // Releases cached memory that was not used for the time of --decay, and more while the device has
  // less free memory than --keep-free. Returns how many bytes were released.
  uint64_t Maintain();
  // Frees pending blocks that no submitted work uses any more. It does nothing while another thread
  // has the device's lock, for example because it waits for memory.
  void SettleFrees();

 private:
  uint64_t GiveBack(uint64_t chunks, uint32_t before_epoch, bool no_more, bool* waits)
      VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t TrimOnce(uint64_t chunks, bool* waits) VRAMSTOW_REQUIRES(kDeviceLock);

  PoolParts* parts_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_POOL_TRIMMER_H_
