// Exports: the owner's side of cuIpc for memory of a pool. See ipc.h.
//
// Ownership: static storage; nothing of what it tells of. Threads: any. Errors: the driver's
// numbers. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_EXPORTS_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_EXPORTS_H_

#include <atomic>
#include <cstddef>
#include <string_view>

#include "interpose/core/pools/ipc.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

class Exports {
 public:
  constexpr Exports(const Driver& driver, Pools& pools) : driver_(driver), pools_(pools) {}
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  // Whether other processes can ask this one: it has a control socket.
  bool reachable() const { return reachable_.load(std::memory_order_relaxed); }
  void set_reachable(bool reachable) { reachable_.store(reachable, std::memory_order_relaxed); }

  // A handle for the block that the address of the pool lies in.
  CUresult MakeHandle(CUdeviceptr address, CUipcMemHandle* handle) const;

  // The answer to "ipc ADDRESS ID PROOF FIRST" (hexadecimal): descriptors of the block's chunks
  // from number FIRST on. Returns how many descriptors there are; -1: an error is the answer.
  int Answer(std::string_view arguments, char* answer, size_t size, size_t* length,
             int* descriptors) const;

 private:
  const Driver& driver_;
  Pools& pools_;
  std::atomic<bool> reachable_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_EXPORTS_H_
