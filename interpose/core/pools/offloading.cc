#include "interpose/core/pools/offloading.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/keep_errno.h"
#include "base/units.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/pools/pools.h"
#include "interpose/core/runtime/kernel_arguments.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

// The most bytes that one call restores, so that the service thread can answer requests between two
// calls.
constexpr uint64_t kMaxBack = 256 * kMiB;

// Host memory that is copied to the device and is larger than this is assumed to contain no
// addresses.
constexpr uint64_t kLargestTable = 64 * kKiB;

// Stores the word at `place` in *address. Returns 1 if the word looks like a device address, which
// is neither a small number nor a negative one; else 0.
int PutIfAddress(const void* place, uint64_t* address) {
  constexpr uint64_t kLeast = uint64_t{1} << 24;
  constexpr uint64_t kMax = uint64_t{1} << 57;
  std::memcpy(address, place, sizeof(*address));
  return *address >= kLeast && *address < kMax ? 1 : 0;
}

}  // namespace

// Every submission calls this function, and mostly no pool observes touches (which memory submitted
// work uses). To be fast, it does not visit the pools.
bool Offloading::Watch() {
  if (!offloaders_.wanted()) return false;
  const bool capturing = pools_.AnyCapture();
  return offloaders_.CountSubmission() || capturing;
}

bool Offloading::Watches() const { return offloaders_.AnyTracksTouches() || pools_.AnyCapture(); }

// Calls `bring`, which restores memory, in a thread that may hold a GateTicket.
template <typename Bring>
void Offloading::BringBack(Bring bring) {
  const KeepErrno keep_errno;
  const Offloaders::Wait wait(&offloaders_);
  const ScopedCallContext call;
  bring();
}

// Each pool is opened once for all addresses, not once for each address. An address outside the
// pools has no effect.
void Offloading::TouchAll(const uint64_t* addresses, int count, UsedBy by) {
  const bool stays = by == UsedBy::kGraph || pools_.AnyCapture();
  for (int i = 0; i < pools_.count(); ++i) {
    const Pools::Use use = pools_.At(i);
    if (!use || use.offloader() == nullptr) continue;
    Offloader* offloader = use.offloader();
    for (int k = 0; k < count; ++k) {
      if (stays) {
        offloader->Pin(addresses[k]);
      } else {
        offloader->Touch(addresses[k]);
      }
      if (by == UsedBy::kLaterWork) offloader->Expose(addresses[k]);
      if (!offloader->IsAway(addresses[k])) continue;
      BringBack([&] { offloader->Need(addresses[k]); });
    }
  }
}

void Offloading::EndAllQuiet() {
  for (int i = 0; i < pools_.count(); ++i) {
    const Pools::Use use = pools_.At(i);
    if (!use || use.offloader() == nullptr || !use.offloader()->has_away()) continue;
    BringBack([&] { use.offloader()->EndQuiet(); });
  }
}

void Offloading::PrepareCapture() {
  if (offloaders_.is_known_wanted()) EndAllQuiet();
}

void Offloading::NoteWords(const void* memory, uint64_t size, UsedBy by) {
  constexpr int kRoom = 32;
  const auto* bytes = static_cast<const unsigned char*>(memory);
  uint64_t found[kRoom];
  int count = 0;
  for (uint64_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
    if (count == kRoom) TouchAll(found, std::exchange(count, 0), by);
    count += PutIfAddress(bytes + at, &found[count]);
  }
  if (count != 0) TouchAll(found, count, by);
}

void Offloading::ExposeWords(const void* memory, uint64_t size) {
  if (memory == nullptr || size > kLargestTable) return;
  NoteWords(memory, size, UsedBy::kLaterWork);
}

// The memory is read by the kernel, because an address of device memory must cause no fault here.
void Offloading::ExposeWordsAt(uint64_t address, uint64_t size) {
  if (address == 0 || size > kLargestTable || pools_.Owning(address)) return;
  const KeepErrno keep_errno;
  unsigned char piece[4 * kKiB];
  for (uint64_t done = 0; done < size;) {
    const uint64_t bytes = std::min<uint64_t>(size - done, sizeof piece);
    const iovec to = {piece, bytes};
    const iovec from = {reinterpret_cast<void*>(address + done), bytes};
    const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (got < 0 && errno != EFAULT) return EndAllQuiet();  // a container may forbid the call
    if (got <= 0) return;
    NoteWords(piece, static_cast<uint64_t>(got), UsedBy::kLaterWork);
    done += static_cast<uint64_t>(got);
  }
}

// Reports the arguments of a kernel for which KernelArguments has no entry. The driver is asked for
// their sizes.
void Offloading::AskForArguments(CUfunction function, void** arguments, UsedBy by) {
  ArgumentSizes sizes = kernel_arguments_.Ask(function);
  // A kernel with unknown arguments may use any memory.
  if (!sizes.known()) return EndAllQuiet();
  constexpr size_t kMaxArguments = 4096;
  size_t size = 0;
  for (size_t i = 0; i < kMaxArguments && sizes.Next(&size); ++i) NoteWords(arguments[i], size, by);
}

void Offloading::WatchUses() {
  if (!offloaders_.wanted()) return;
  driver_.WatchUses(OnUses, this);
  driver_.WrapTasks(OnTask, this);
}

// A task computes what an operator of PyTorch gives. It follows the operator's launches, and memory
// may have left between the two.
int Offloading::OnTask(int (*append)(void* call), void* call, void* self) {
  // A wrapper around this call has passed the gate already.
  if (ThisThread()->depth != 0) return append(call);
  auto* const offloading = static_cast<Offloading*>(self);
  const Offloaders::GateTicket ticket(&offloading->offloaders_);
  return append(call);
}

// Reports that work uses the ranges, by the address in the middle of each. A range belongs to one
// block. Its middle lies on a page that the block does not share with other blocks, if the block
// has such a page.
void Offloading::OnUses(const Driver::UsedRange* ranges, size_t count, void* self) {
  auto* const offloading = static_cast<Offloading*>(self);
  if (!offloading->Watches()) return;
  constexpr int kRoom = 32;
  uint64_t addresses[kRoom];
  int known = 0;
  for (size_t i = 0; i < count; ++i) {
    if (known == kRoom) offloading->TouchAll(addresses, std::exchange(known, 0), UsedBy::kWork);
    if (ranges[i].bytes != 0) addresses[known++] = ranges[i].address + ranges[i].bytes / 2;
  }
  offloading->TouchAll(addresses, known, UsedBy::kWork);
}

void Offloading::TouchArguments(CUfunction function, void** arguments, void** extra) {
  if (driver_.HoldsKernels()) return;  // OnUses gets the memory
  NoteArguments(function, arguments, extra, UsedBy::kWork);
}

void Offloading::NoteArguments(CUfunction function, void** arguments, void** extra, UsedBy by) {
  if (arguments != nullptr) {
    const KernelArguments::Layout* layout = kernel_arguments_.Find(function);
    const bool is_known = layout != nullptr && layout->writes_no_addresses;
    if (by == UsedBy::kWork && !is_known) by = UsedBy::kLaterWork;
    if (layout == nullptr) return AskForArguments(function, arguments, by);
    uint64_t found[KernelArguments::kMax];
    int count = 0;
    for (int i = 0; i < layout->count; ++i) {
      const void* argument = arguments[layout->indexes[i]];
      if (layout->sizes[i] < 2 * sizeof(uint64_t)) {
        count += PutIfAddress(argument, &found[count]);
      } else {
        NoteWords(argument, layout->sizes[i], by);
      }
    }
    if (count != 0) TouchAll(found, count, by);
    return;
  }
  const void* buffer = nullptr;
  size_t size = 0;
  for (int i = 0; extra != nullptr && extra[i] != CU_LAUNCH_PARAM_END && i < 8; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(extra[i + 1]);
  }
  if (by == UsedBy::kWork) by = UsedBy::kLaterWork;
  if (buffer != nullptr) NoteWords(buffer, size, by);
}

bool Offloading::RefusesGraph() {
  if (!offloaders_.RefuseGraphs()) return false;
  if (logged_graph_.exchange(true, std::memory_order_relaxed)) return true;
  Log("the program launched a CUDA graph while memory that captured graphs may use is paused "
      "(VRAMSTOW_GRAPHS, graphs=True): launches of graphs are refused with "
      "CUDA_ERROR_ILLEGAL_STATE (401) until vramstow_resume has brought all of this memory back.");
  return true;
}

void Offloading::AdvanceQuiet() {
  const KeepErrno keep_errno;
  for (int i = 0; i < pools_.count(); ++i) {
    const Pools::Use use = pools_.At(i);
    if (!use || use.offloader() == nullptr || !use.offloader()->wants_to_advance()) continue;
    const ScopedCallContext call;
    use.offloader()->AdvanceQuiet();
  }
}

bool Offloading::Maintain() {
  if (!offloaders_.is_known_wanted()) return false;
  bool watched = false;
  for (int i = 0; i < pools_.count(); ++i) {
    const Pools::Use use = pools_.At(i);
    if (!use || use.offloader() == nullptr || !use.offloader()->tracks_touches()) continue;
    const ScopedCallContext call;
    use.offloader()->BringBack(kMaxBack);
    LogTrouble(*use.offloader());
    watched = true;
  }
  return watched;
}

void Offloading::LogTrouble(const Offloader& offloader) {
  const OffloadStats stats = offloader.Stats();
  if (stats.refused_in_capture != 0 && !logged_capture_.exchange(true, std::memory_order_relaxed)) {
    Log("--offload could not move some memory, because a stream was being captured: memory moves "
        "again when the capture has ended.");
  }
  if (stats.refused != 0 && !logged_busy_.exchange(true, std::memory_order_relaxed)) {
    Log("--offload could not move some memory, because submitted work did not end in time: memory "
        "moves again when the work has ended.");
  }
  if (stats.mappings_used_up && !logged_mappings_.exchange(true, std::memory_order_relaxed)) {
    Log("--offload moves no more memory: the memory on the host uses half of the mappings that the "
        "system allows a process (vm.max_map_count).");
  }
}

}  // namespace vramstow
