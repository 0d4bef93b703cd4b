#include "interpose/core/pools/exports.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/control.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/runtime/driver.h"

namespace vramstow {
namespace {

constexpr char kMagic[8] = {'v', 'r', 's', 't', 'o', 'w', '0', '1'};

// Returns a random number that only this process knows. Without it no other process can make a
// handle. Returns 0 if no random bytes are available.
uint64_t Secret() {
  static constinit std::atomic<uint64_t> secret{0};
  uint64_t value = secret.load(std::memory_order_relaxed);
  if (value != 0) return value;
  uint64_t fresh = 0;
  if (getrandom(&fresh, sizeof fresh, GRND_NONBLOCK) != sizeof fresh || fresh == 0) return 0;
  secret.compare_exchange_strong(value, fresh, std::memory_order_relaxed);
  return secret.load(std::memory_order_relaxed);
}

// Returns a hash that proves that this process made the handle. It is not cryptographic: a process
// that knows a few hashes cannot easily compute others, and the socket's credentials keep other
// users out.
uint64_t ProofOf(uint64_t secret, uint64_t address, uint64_t id) {
  uint64_t value = secret;
  for (const uint64_t part : {address, id, secret}) {
    value ^= part;
    value *= 0xD6E8FEB86659FD93U;
    value ^= value >> 32;
    value *= 0xD6E8FEB86659FD93U;
    value ^= value >> 29;
  }
  return value;
}

bool ReadHex(std::string_view* text, uint64_t* value) {
  while (!text->empty() && text->front() == ' ') text->remove_prefix(1);
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value, 16);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

}  // namespace

bool IsPoolHandle(const CUipcMemHandle& handle) {
  return std::memcmp(&handle, kMagic, sizeof kMagic) == 0;
}

CUresult Exports::MakeHandle(CUdeviceptr address, CUipcMemHandle* handle) const {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Pools::Use use = pools_.Owning(address);
  BlockInfo block;
  if (!use || use->Find(address, &block) != PoolError::kOk) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t secret = Secret();
  // With --backing=malloc the driver can export only a whole segment, which contains other blocks,
  // too. A large chunk also contains other blocks.
  if (!reachable() || secret == 0 || use->segments() ||
      use->HasLargeChunk(block.address, block.requested)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  // Memory that has been exported must stay in place: the other process maps its physical memory.
  // If the memory is paused, or another process has its turn, the other process can open it when it
  // is back.
  if (Offloader* const offloader = use.offloader();
      offloader != nullptr &&
      offloader->ReturnHeld(block.address, block.requested) == OffloadResult::kDone) {
    use->pages()->PinInPlace(block.address, block.requested);
  }
  IpcHandle made = {};
  std::memcpy(made.magic, kMagic, sizeof kMagic);
  made.process_start = ProcessStart(getpid());
  made.address = block.address;
  made.size = block.requested;
  made.id = block.id;
  made.proof = ProofOf(secret, block.address, block.id);
  made.process = static_cast<uint32_t>(getpid());
  made.page_bytes = static_cast<uint32_t>(use->chunk_bytes());
  std::memcpy(handle, &made, sizeof made);
  return CUDA_SUCCESS;
}

int Exports::Answer(std::string_view arguments, char* answer, size_t size, size_t* length,
                    int* descriptors) const {
  uint64_t address = 0;
  uint64_t id = 0;
  uint64_t proof = 0;
  uint64_t first = 0;
  const auto refuse = [&](const char* why) {
    *length =
        static_cast<size_t>(std::snprintf(answer, size, "%sERROR %s\n", kControlGreeting, why));
    return -1;
  };
  if (!ReadHex(&arguments, &address) || !ReadHex(&arguments, &id) || !ReadHex(&arguments, &proof) ||
      !ReadHex(&arguments, &first)) {
    return refuse("ipc needs an address, an id, a proof and a number");
  }
  const uint64_t secret = Secret();
  if (secret == 0 || proof != ProofOf(secret, address, id)) return refuse("no such memory");
  Pools::Use use = pools_.Owning(address);
  uint64_t handles[kMaxIpcDescriptors];
  const uint32_t count = use ? use->ChunksOf(address, id, first, handles, kMaxIpcDescriptors) : 0;
  if (count == 0) return refuse("the memory was freed in the meantime");
  auto* export_handle = reinterpret_cast<decltype(&::cuMemExportToShareableHandle)>(
      driver_.real(Hook::kcuMemExportToShareableHandle));
  int made = 0;
  for (uint32_t i = 0; i < count && export_handle != nullptr; ++i) {
    int descriptor = -1;
    if (export_handle(&descriptor, handles[i], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) !=
        CUDA_SUCCESS) {
      break;
    }
    descriptors[made++] = descriptor;
  }
  if (made == 0) return refuse("the driver does not export the memory");
  *length = static_cast<size_t>(std::snprintf(answer, size, "%sOK\n%d\n", kControlGreeting, made));
  return made;
}

}  // namespace vramstow
