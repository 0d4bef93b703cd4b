#include "simulator/driver/host_reads.h"

#include <stdio.h>
#include <string.h>

#include "base/demangle.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kSmall = 8;
// Limit of repeated reads. A simulated run has fewer steps than this, and a loop that does nothing
// else reaches it in a few seconds.
constexpr uint64_t kMaxRepeated = 100000;
// Limit of reads whose values may be wrong, but need not be. It is higher than kMaxRepeated,
// because a correct program may make many such reads: a loop over a tensor reads each value once.
constexpr uint64_t kMaxUnsure = 1000000;

}  // namespace

HostReads& HostReads::Global() {
  static auto* reads = new HostReads;
  return *reads;
}

bool HostReads::IsRepeated(uint64_t address, uint64_t value) {
  for (SmallRead& place : places_) {
    if (place.address != address) continue;
    const bool same = place.value == value;
    place.value = value;
    return same;
  }
  places_[next_place_] = {address, value};
  next_place_ = (next_place_ + 1) % kPlaces;
  return false;
}

bool HostReads::NoteUnsure(const Spec& spec) {
  const bool is_unsure = is_unsure_ || spec.emulation_bytes == 0 || !spec.keep_contents;
  is_unsure_ = false;
  if (!is_unsure || ++unsure_ != kMaxUnsure) return true;
  fprintf(stderr,
          "vramstow: the program has read %llu single values of what kernels should have computed, "
          "and did not here: it may wait for something that cannot come. Ended with "
          "CUDA_ERROR_LAUNCH_TIMEOUT.\n",
          static_cast<unsigned long long>(kMaxUnsure));
  return false;
}

bool HostReads::NoteRepeated(uint64_t address, uint64_t value, const char* by) {
  repeated_ = IsRepeated(address, value) ? repeated_ + 1 : 0;
  if (repeated_ != kMaxRepeated) return true;
  fprintf(stderr,
          "vramstow: the program waits for a result of %s, which is not computed here: it has read "
          "the same %llu times, and it cannot change. Ended with CUDA_ERROR_LAUNCH_TIMEOUT; "
          "values=all in the SPEC computes all that can be computed.\n",
          strncmp(by, "_Z", 2) == 0 ? Demangled(by).c_str() : by,
          static_cast<unsigned long long>(kMaxRepeated));
  return false;
}

bool HostReads::Note(const Spec& spec, const CopyBox& box, const char* by) {
  if (by != nullptr) values_.Note(by);
  if (box.Bytes() > kSmall || box.height != 1 || box.depth != 1) return true;
  if (by == nullptr) return NoteUnsure(spec);
  uint64_t value = 0;
  memcpy(&value, reinterpret_cast<const void*>(static_cast<uintptr_t>(box.to.address)),
         box.Bytes());
  return NoteRepeated(box.from.address, value, by);
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

uint64_t vramstowSimulatorCountUncomputedReads(void) {
  return HostReads::Global().values().count();
}

void vramstowSimulatorWatchUncomputedReads(int (*seen)(const char* by, void* user), void* user) {
  const MutexLock lock(&Globals().mutex);
  HostReads::Global().values().Watch(seen, user);
}

uint64_t vramstowSimulatorCountUnknownSizes(void) { return HostReads::Global().sizes().count(); }

void vramstowSimulatorWatchUnknownSizes(int (*seen)(const char* by, void* user), void* user) {
  const MutexLock lock(&Globals().mutex);
  HostReads::Global().sizes().Watch(seen, user);
}

void vramstowSimulatorNoteUnknownSize(const char* by) {
  const MutexLock lock(&Globals().mutex);
  HostReads::Global().NoteSize(by);
}

}  // extern "C"
