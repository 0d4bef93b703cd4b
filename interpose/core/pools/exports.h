// Exports serves cuIpc for memory of a pool in the process that owns the memory (see ipc.h).
//
// Ownership: static storage; the exported memory belongs to the pool. Threads: any. Errors: the
// driver's numbers. Units: bytes.
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

  // True if this process has a control socket, at which other processes can ask it for chunks.
  bool reachable() const { return reachable_.load(std::memory_order_relaxed); }
  void set_reachable(bool reachable) { reachable_.store(reachable, std::memory_order_relaxed); }

  // Makes a handle for the pool's block that contains this address.
  CUresult MakeHandle(CUdeviceptr address, CUipcMemHandle* handle) const;

  // Answers the request "ipc ADDRESS ID PROOF FIRST" (hexadecimal numbers) with descriptors of the
  // block's chunks from number FIRST on. Returns the number of descriptors, or -1 if the answer is
  // an error.
  int Answer(std::string_view arguments, char* answer, size_t size, size_t* length,
             int* descriptors) const;

 private:
  const Driver& driver_;
  Pools& pools_;
  std::atomic<bool> reachable_{false};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_EXPORTS_H_
