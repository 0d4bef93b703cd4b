#include "interpose/core/record/observed_memory.h"

#include <algorithm>

namespace vramstow {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

void ObservedMemory::SetPeak(Number* peak, const Number& now) {
  peak->store(now.load(), std::memory_order_seq_cst);
  Raise(peak, now.load());
}

void ObservedMemory::Begin(bool sees_driver) {
  sees_driver_.store(sees_driver, kRelaxed);
  is_followed_.store(true, std::memory_order_release);
}

void ObservedMemory::NoteSize(int device, uint64_t bytes) {
  if (Device* const of = Find(device)) of->device_bytes.store(bytes, kRelaxed);
}

uint64_t ObservedMemory::SizeOf(int device) const {
  if (device < 0 || device >= kMaxDevices) return 0;
  return devices_[device].device_bytes.load(kRelaxed);
}

void ObservedMemory::Reserve(int device, int64_t bytes, uint64_t retries) {
  Device* const of = Find(device);
  if (of == nullptr) return;
  if (bytes > 0) {
    Raise(&of->peak_reserved, Add(&of->reserved, static_cast<uint64_t>(bytes)));
  } else if (bytes < 0) {
    const uint64_t released = uint64_t{0} - static_cast<uint64_t>(bytes);
    Subtract(&of->reserved, released);
    Add(&of->released, released);
  }
  Raise(&of->retries, retries);
}

void ObservedMemory::Refuse(int device) {
  Device* const of = Find(device);
  if (of == nullptr) return;
  // This function is called without the allocator's lock, so the addition has to be atomic.
  of->out_of_memory.fetch_add(1, kRelaxed);
  of->is_refused.store(false, kRelaxed);
}

void ObservedMemory::NoteDriverRefusal(int device) {
  if (Device* const of = Find(device)) of->is_refused.store(true, kRelaxed);
}

bool ObservedMemory::Read(int device, ObservedFigures* figures) const {
  if (device < 0 || device >= kMaxDevices || !is_followed()) return false;
  const Device& of = devices_[device];
  figures->allocated = of.allocated.load(kRelaxed);
  figures->requested = of.requested.load(kRelaxed);
  figures->reserved = of.reserved.load(kRelaxed);
  figures->peak_allocated = std::max(figures->allocated, of.peak_allocated.load(kRelaxed));
  figures->peak_reserved = std::max(figures->reserved, of.peak_reserved.load(kRelaxed));
  figures->pending = of.pending.load(kRelaxed);
  // Frees are read first, so that there are never more frees than allocations.
  figures->frees = of.frees.load(std::memory_order_acquire);
  figures->allocations = std::max(figures->frees, of.allocations.load(kRelaxed));
  figures->released = of.released.load(kRelaxed);
  figures->out_of_memory = of.out_of_memory.load(kRelaxed);
  figures->retries = of.retries.load(kRelaxed);
  figures->knows_retries = sees_driver_.load(kRelaxed);
  return figures->allocations + figures->reserved + figures->released + figures->out_of_memory != 0;
}

bool ObservedMemory::ResetPeaks(int device) {
  ObservedFigures figures;
  if (!Read(device, &figures)) return false;
  Device& of = devices_[device];
  SetPeak(&of.peak_allocated, of.allocated);
  SetPeak(&of.peak_reserved, of.reserved);
  return true;
}

void ObservedMemory::AbandonAfterFork() {
  is_followed_.store(false, kRelaxed);
  for (Device& of : devices_) {
    of.is_refused.store(false, kRelaxed);
    for (Number* number : {&of.allocated, &of.requested, &of.peak_allocated, &of.allocations,
                           &of.frees, &of.pending, &of.reserved, &of.peak_reserved, &of.released,
                           &of.retries, &of.out_of_memory, &of.device_bytes}) {
      number->store(0, kRelaxed);
    }
  }
}

}  // namespace vramstow
