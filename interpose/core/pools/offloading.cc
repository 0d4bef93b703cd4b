#include "interpose/core/pools/offloading.h"

#include <cstring>
#include <new>
#include <utility>

#include "allocator/core/host_memory.h"
#include "interpose/core/core.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/settings.h"
#include "interpose/core/runtime/say.h"
#include "tracer/host_memory.h"

namespace vramstow {
namespace {

// At most so much comes back in one go, so that the service thread keeps answering.
constexpr uint64_t kMostBack = 256 * kMiB;

// The word at this place, if it looks like an address of a device: those are neither small numbers
// nor negative ones. 1: it does.
int PutIfAddress(const void* place, uint64_t* address) {
  constexpr uint64_t kLeast = uint64_t{1} << 24;
  constexpr uint64_t kMost = uint64_t{1} << 57;
  std::memcpy(address, place, sizeof(*address));
  return *address >= kLeast && *address < kMost ? 1 : 0;
}

}  // namespace

bool Offloading::wanted() {
  Wish wish = wish_.load(std::memory_order_relaxed);
  if (wish == Wish::kUnknown) {
    wish = WantsOffload(TheCore().process.options()) ? Wish::kYes : Wish::kNo;
    wish_.store(wish, std::memory_order_relaxed);
  }
  return wish == Wish::kYes;
}

bool Offloading::automatic() {
  OffloadSetting setting;
  return ParseOffload(TheCore().process.options().offload, &setting) && setting.automatic;
}

Offloader* Offloading::Make() {
  if (!wanted()) return nullptr;
  const int number = count_.load(std::memory_order_relaxed);
  if (number == Pools::kMaxPools) return nullptr;
  void* memory = AllocateHostMemory(sizeof(Offloader));
  if (memory == nullptr) return nullptr;
  auto* offloader = new (memory) Offloader;
  offloaders_[number].store(offloader, std::memory_order_relaxed);
  count_.store(number + 1, std::memory_order_release);
  return offloader;
}

void Offloading::Open(Offloader* offloader, Pool* pool) {
  OffloadSetting setting;
  ParseOffload(TheCore().process.options().offload, &setting);
  OffloadConfig config;
  config.host_bytes = setting.host_bytes;
  if (config.host_bytes == 0) config.host_bytes = ReadHostMemory().free / 2;
  config.policy = MakeOffloadPolicy(setting.policy);
  config.tells_touches = setting.touches;
  config.host_free_bytes = [] { return ReadHostMemory().free; };
  if (offloader->Open(pool, &gate_, config)) return;
  if (told_.exchange(true, std::memory_order_relaxed)) return;
  Say("--offload moves nothing by itself here: the device cannot map memory of the host. "
      "vramstow_pause and vramstow_resume work.");
}

Offloading::Pass::Pass(Offloading* offloading)
    : gate_(offloading->wanted() ? &offloading->gate_ : nullptr) {
  if (gate_ == nullptr) return;
  uint32_t& lane = TheCore().shim->thread()->lane;
  if (lane == 0) lane = offloading->lanes_.fetch_add(1, std::memory_order_relaxed) + 1;
  lane_ = lane;
  gate_->Enter(lane_);
}

// Without a look at the pools: most of the time nobody watches, and every submission asks.
bool Offloading::Watch() {
  if (!wanted()) return false;
  bool watched = TheCore().pools.AnyCapture();
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    Offloader* offloader = offloaders_[i].load(std::memory_order_relaxed);
    if (!offloader->watching()) continue;
    offloader->Tick();
    watched = true;
  }
  return watched;
}

// The pools are held once for all of them; an address that is no pool's does nothing there.
void Offloading::TouchAll(const uint64_t* addresses, int count) {
  Pools& pools = TheCore().pools;
  const bool capturing = pools.AnyCapture();
  for (int i = 0; i < pools.count(); ++i) {
    const Pools::Use use = pools.At(i);
    if (!use || use.offloader() == nullptr) continue;
    Offloader* offloader = use.offloader();
    for (int k = 0; k < count; ++k) {
      if (capturing) {
        // A graph may use it again, without a word to anybody.
        offloader->Pin(addresses[k]);
      } else {
        offloader->Touch(addresses[k]);
      }
    }
  }
}

void Offloading::TouchWords(const void* memory, uint64_t size) {
  constexpr int kRoom = 32;
  const auto* bytes = static_cast<const unsigned char*>(memory);
  uint64_t found[kRoom];
  int count = 0;
  for (uint64_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    if (count == kRoom) TouchAll(found, std::exchange(count, 0));
    count += PutIfAddress(bytes + at, &found[count]);
  }
  if (count != 0) TouchAll(found, count);
}

// Kernels that KernelArguments knows nothing of.
void Offloading::AskForArguments(CUfunction function, void** arguments) {
  ArgumentSizes sizes(function);
  constexpr size_t kMostArguments = 4096;
  size_t size = 0;
  for (size_t i = 0; i < kMostArguments && sizes.Next(&size); ++i) TouchWords(arguments[i], size);
}

void Offloading::TouchArguments(CUfunction function, void** arguments, void** extra) {
  if (arguments != nullptr) {
    const KernelArguments::Layout* layout = kernel_arguments_.Find(function);
    if (layout == nullptr) return AskForArguments(function, arguments);
    uint64_t found[KernelArguments::kMost];
    int count = 0;
    for (int i = 0; i < layout->count; ++i) {
      const void* argument = arguments[layout->indexes[i]];
      if (layout->sizes[i] < 2 * sizeof(uint64_t)) {
        count += PutIfAddress(argument, &found[count]);
      } else {
        TouchWords(argument, layout->sizes[i]);
      }
    }
    if (count != 0) TouchAll(found, count);
    return;
  }
  const void* buffer = nullptr;
  size_t size = 0;
  for (int i = 0; extra != nullptr && extra[i] != CU_LAUNCH_PARAM_END && i < 8; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(extra[i + 1]);
  }
  if (buffer != nullptr) TouchWords(buffer, size);
}

bool Offloading::Maintain() {
  if (wish_.load(std::memory_order_relaxed) != Wish::kYes) return false;
  Pools& pools = TheCore().pools;
  bool watched = false;
  for (int i = 0; i < pools.count(); ++i) {
    const Pools::Use use = pools.At(i);
    if (!use || use.offloader() == nullptr || !use.offloader()->watching()) continue;
    const PoolCall call;
    use.offloader()->BringBack(kMostBack);
    TellBusy(*use.offloader());
    watched = true;
  }
  return watched;
}

void Offloading::TellBusy(const Offloader& offloader) {
  if (offloader.Stats().refused == 0 || told_busy_.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  Say("--offload could not move some memory: work that was submitted did not end, or a stream was "
      "being captured.");
}

void Offloading::AbandonAfterFork() {
  gate_.Reset();
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace vramstow
