// Shares memory of the pool with other processes by cuIpc. The driver's own cuIpc does not accept
// memory of the pool.
//
// Idea: a handle of cuIpcGetMemHandle has 64 bytes. They name the process that owns the memory, and
// prove that this process made the handle. Another process that opens the handle asks the owner at
// the owner's control socket, gets a file descriptor for each chunk under the block, and maps the
// chunks side by side. vramstow must be preloaded in both processes, and both must use the same
// folder of sockets. exports.h serves the owner, imports.h the process that opens the handle.
//
// Ownership, threads: values. Errors: none. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_IPC_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_IPC_H_

#include <cstdint>

#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

// The contents of the 64 bytes of a handle.
struct IpcHandle {
  char magic[8];
  uint64_t process_start;  // the owner's start time, because process numbers are reused
  uint64_t address;        // the block's address in the owner
  uint64_t size;           // the requested size
  uint64_t id;             // the block's id
  uint64_t proof;
  uint32_t process;
  uint32_t page_bytes;
  uint64_t unused;
};
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));

// True if vramstow's pool, not the driver, made this handle.
bool IsPoolHandle(const CUipcMemHandle& handle);

inline constexpr int kMaxIpcDescriptors = 64;

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_IPC_H_
