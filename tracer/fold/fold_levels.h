// FoldLevels tracks how much memory is live while events are folded (replaced by sums), the highest
// level so far, and the event that caused that peak.
//
// Idea: it computes those levels of the analysis (tools/analysis/accounts/levels.h) that cannot be
// computed from the retained events. If a block turns out to contain a framework's blocks, the peak
// that its allocation caused is undone.
//
// Ownership: a value in memory of zeros. Threads: one at a time. Errors: none. No heap. Units:
// bytes; events by their number within the fold.
#ifndef VRAMSTOW_TRACER_FOLD_FOLD_LEVELS_H_
#define VRAMSTOW_TRACER_FOLD_FOLD_LEVELS_H_

#include <cstddef>
#include <cstdint>

#include "tracer/fold/fold_samples.h"
#include "tracer/fold/fold_table.h"
#include "tracer/fold/fold_timeline.h"
#include "tracer/format/sums.h"

namespace vramstow {

// True if memory of this kind lies on a device and counts as allocated.
bool IsFoldedDeviceMemory(MemoryKind kind);

// The counts of a library, an entry point, a kind of memory or a device. They count folded events
// only, but the highest levels are those of all events.
struct FoldTally {
  uint64_t calls;
  uint64_t allocations;
  uint64_t frees;
  uint64_t bytes;
  uint64_t now_device;
  uint64_t now_other;
  uint64_t highest_device;
  uint64_t highest_other;
};

class FoldLevels {
 public:
  static constexpr size_t kMaxNames = 4096;  // greater numbers count as unknown
  static constexpr size_t kMaxDevices = 256;

  // Resets the live memory to 0, but not the highest levels.
  void Begin();

  void Born(const FoldBlock& block, uint32_t event);
  // Subtracts a block that was freed.
  void Died(const FoldBlock& block);
  void Holds(FoldBlock* block);
  void Reserved(int16_t device, uint64_t bytes);
  void Unreserved(int16_t device, uint64_t bytes);

  // Takes the samples that are due before an event at this time.
  void Pass(uint64_t time_ns) { samples_.Pass(time_ns); }
  // Records the level after an event at this time.
  void Note(uint64_t time_ns);

  // True if a block was live at the peak. The block was allocated by the event number `birth`, and
  // was not freed before the peak.
  bool WasBornBeforePeak(uint32_t birth) const { return has_peak_ && birth <= peak_event_; }
  // Returns a number that changes with each new peak, and changes back when a peak is undone.
  uint64_t peaks() const { return peaks_; }

  FoldTally& Library(uint16_t library) { return libraries_[NameOf(library)]; }
  FoldTally& Call(uint16_t call) { return calls_[NameOf(call)]; }
  FoldTally& Memory(MemoryKind memory) { return memories_[static_cast<uint8_t>(memory)]; }
  FoldTally& Device(int16_t device) { return devices_[DeviceNumber(device)]; }
  // Returns an index for a device's entry; the index 0 is for memory that belongs to no device.
  static size_t DeviceNumber(int16_t device) {
    const size_t number = static_cast<size_t>(device + 1);
    return device < 0 ? 0 : number < kMaxDevices ? number : kMaxDevices - 1;
  }
  static size_t NameOf(uint16_t name) { return name < kMaxNames ? name : size_t{kUnknownName}; }

  const FoldSamples& samples() const { return samples_; }
  const FoldTimeline& timeline() const { return timeline_; }
  void FillTotals(SumTotals* totals) const;

 private:
  // The state before the last allocation. With it the effect of that allocation on the peak can be
  // undone, as long as nothing else has changed.
  struct LastBirth {
    bool is_known;
    bool had_peak;
    uint32_t event;
    uint32_t peak_event;
    uint64_t peaks;
    uint64_t peak_allocated;
    uint64_t peak_requested;
    uint64_t device_highest;
  };

  void BornElsewhere(const FoldBlock& block);
  void DiedElsewhere(const FoldBlock& block);
  void Add(const FoldBlock& block, bool on_device);
  void Remove(const FoldBlock& block, bool on_device);
  SumPoint State() const;

  uint64_t allocated_;
  uint64_t requested_;
  uint64_t reserved_;
  uint64_t host_;
  uint64_t host_requested_;
  uint64_t registered_;
  uint64_t managed_;
  bool has_peak_;
  uint32_t peak_event_;
  uint64_t peak_allocated_;
  uint64_t peaks_;
  uint64_t made_peaks_;
  LastBirth last_birth_;
  SumPoint before_;

  uint64_t peak_reserved_;
  uint64_t peak_requested_;
  uint64_t peak_host_;
  uint64_t host_requested_at_peak_;
  uint64_t peak_registered_;
  uint64_t peak_managed_;
  FoldTimeline timeline_;
  FoldSamples samples_;
  FoldTally memories_[256];
  FoldTally devices_[kMaxDevices];
  FoldTally libraries_[kMaxNames];
  FoldTally calls_[kMaxNames];
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FOLD_FOLD_LEVELS_H_
