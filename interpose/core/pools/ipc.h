// Memory of the pool in other processes: cuIpc for what the driver's own cuIpc does not take.
//
// Idea: a handle for cuIpcGetMemHandle is 64 bytes that say whose memory it is and prove that its
// owner said so. Whoever opens it asks the owner at its control socket, gets a file descriptor for
// each chunk under the block, and maps them side by side. Both processes have to be preloaded and
// find the same folder of sockets.
//
// Ownership: Imports owns its mappings. Threads: any; the lock is held while a block is opened or
// closed, so the same handle is mapped once. Errors: the driver's numbers. Units: bytes.
//
// Lock: mutex_. Under it the driver is called and the other process is waited for, for seconds at
// most; nothing else is taken.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_IPC_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_IPC_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allocator/core/mutex.h"
#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow {

// What is in the 64 bytes.
struct IpcHandle {
  char magic[8];
  uint64_t process_start;  // of the owner: its number may come back
  uint64_t address;        // of the block, in the owner
  uint64_t size;           // as asked for
  uint64_t id;             // of the block
  uint64_t proof;
  uint32_t process;
  uint32_t page_bytes;
  uint64_t unused;
};
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));

// Whether the pool made this handle.
bool IsPoolHandle(const CUipcMemHandle& handle);

// A handle for the block that the address of the pool lies in.
CUresult MakeIpcHandle(CUdeviceptr address, CUipcMemHandle* handle);

inline constexpr int kMaxIpcDescriptors = 64;

// The owner's answer to "ipc ADDRESS ID PROOF FIRST" (hexadecimal): descriptors of the block's
// chunks from number FIRST on. Returns how many descriptors there are; -1: an error is the answer.
int AnswerIpc(std::string_view arguments, char* answer, size_t size, size_t* length,
              int* descriptors);

class Imports {
 public:
  constexpr Imports() = default;
  Imports(const Imports&) = delete;
  Imports& operator=(const Imports&) = delete;

  // Maps the block in the current context's device. *size: of the block.
  CUresult Open(const CUipcMemHandle& handle, CUdeviceptr* address, uint64_t* size);
  // False: not opened here.
  bool Close(CUdeviceptr address, CUresult* result);

  void AbandonAfterFork();

 private:
  static constexpr int kMost = 1024;
  struct Import {
    IpcHandle handle;
    CUdeviceptr range;  // 0: the place is free
    uint64_t pages;
    uint32_t opened;
  };

  Import* Find(const IpcHandle& handle);
  CUresult MapAll(Import* import);
  void UnmapAll(const Import& import, uint64_t mapped);

  Mutex mutex_;
  int count_ = 0;  // places that were ever used
  Import imports_[kMost] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_IPC_H_
