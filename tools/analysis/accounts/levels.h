// Levels: how much memory is live, in total and by library, kind of memory, entry point, size and
// device; the highest value of each; and their values at the peak.
//
// Idea: each block is reported when it is born and when it dies. This class knows no addresses.
// "The peak" is the first moment when the device memory allocated by the process was highest.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none; a block may
// only die if it was born. Units: bytes, nanoseconds. Cost: a few additions for each event.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LEVELS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LEVELS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/analysis/accounts/live_block.h"
#include "tools/analysis/accounts/peak_blocks.h"
#include "tools/analysis/facts/facts.h"
#include "tracer/format/sums.h"

namespace vramstow {

// A number of live bytes and blocks, and its value at the peak of the process. A new peak comes
// with almost every allocation of a growing process, so nothing may be copied then. Peaks are
// numbered instead (the epoch), and a level saves its value when it changes for the first time
// after a peak. A level that did not change since then still has that value.
class PeakLevel {
 public:
  // Adds a block. `epoch` is the number of the latest peak before this change.
  void Add(uint64_t bytes, uint64_t epoch) {
    SaveBefore(epoch);
    now_.bytes += bytes;
    now_.blocks += 1;
    highest_bytes_ = std::max(highest_bytes_, now_.bytes);
  }
  void Remove(uint64_t bytes, uint64_t epoch) {
    SaveBefore(epoch);
    now_.bytes -= bytes;
    now_.blocks -= 1;
  }

  // Raises the highest value to at least `bytes`, because another source has recorded that level.
  void WasAsHighAs(uint64_t bytes) { highest_bytes_ = std::max(highest_bytes_, bytes); }

  const Amount& now() const { return now_; }
  uint64_t highest_bytes() const { return highest_bytes_; }
  const Amount& AtPeak(uint64_t epoch) const { return epoch_ == epoch ? at_peak_ : now_; }

 private:
  void SaveBefore(uint64_t epoch) {
    if (epoch_ == epoch) return;
    epoch_ = epoch;
    at_peak_ = now_;
  }

  Amount now_;
  Amount at_peak_;
  uint64_t epoch_ = 0;  // the peak that at_peak_ belongs to; epoch 0 is the empty begin
  uint64_t highest_bytes_ = 0;
};

// The counts of each library, kind and entry point.
struct Tally {
  uint64_t calls = 0;
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t failed = 0;
  uint64_t total_bytes = 0;
  PeakLevel device;
  PeakLevel other;
};

struct SizeClass {
  uint64_t allocations = 0;
  uint64_t total_bytes = 0;
  PeakLevel level;
};

struct DeviceLevel {
  uint64_t allocated = 0;
  uint64_t highest = 0;
  uint64_t reserved = 0;
  uint64_t highest_reserved = 0;
  uint64_t outside_pools = 0;  // the part of `allocated` that no pool holds
  uint64_t out_of_memory = 0;
  uint64_t total = 0;  // the device's whole memory; 0 if the source does not have it
  // The driver's latest answer about free memory, and the bytes reserved at that time.
  FreeKnownFrom free_from = FreeKnownFrom::kNothing;
  uint64_t free = 0;
  uint64_t free_time_ns = 0;
  uint64_t reserved_at_free = 0;
  std::optional<uint64_t> lowest_free;
  uint64_t lowest_free_time_ns = 0;
  bool seen = false;
};

class Levels {
 public:
  Levels();

  // Records that `block` becomes live at `now`.
  void Born(const LiveBlock& block, const Moment& now);
  // Records that a framework's blocks lie in the live `block`. From now on `block` counts as
  // reserved and not as allocated, and the caller must set LiveBlock::holds before it dies. Its
  // bytes are subtracted from the allocated bytes, also from those at the peak if nothing has
  // changed since the birth of `block`.
  void Holds(const LiveBlock& block);
  // Records that `block` is no longer live.
  void Died(const LiveBlock& block);
  // Makes `block`, which was recorded as dead at event `died`, live again, because that record was
  // wrong. Returns the block to store in its place. Its birth is later than that of `block` if
  // there was a peak since `died`, because that peak did not count the block.
  LiveBlock Revived(const LiveBlock& block, uint64_t died, const Moment& now);

  // These functions record that a pool took memory from a device, or released it.
  void Reserved(int16_t device, uint64_t bytes);
  void Unreserved(int16_t device, uint64_t bytes);
  // Sets the bytes reserved on the device, as the source reports them.
  void SetReserved(int16_t device, uint64_t bytes);

  // Counts an allocation of `block`. Imported blocks are counted, too, although another process
  // allocated them.
  void CountAllocation(const LiveBlock& block);
  // Removes an allocation that CountAllocation has counted.
  void UncountAllocation(const LiveBlock& block);

  // These functions add the sums (counts and highest levels) that the trace holds in place of
  // events that it no longer has.
  static void AddTally(const TraceSum& sum, Tally* tally);
  void AddDevice(const TraceSum& sum);
  void AddSizeClass(const TraceSum& sum);
  void AddTotals(const SumTotals& totals);

  // Returns the level of a call site; `site` is its number in the SiteTable.
  PeakLevel& Site(uint32_t site) {
    if (site >= sites_.size()) sites_.resize(site + size_t{1});
    return sites_[site];
  }
  const std::vector<PeakLevel>& sites() const { return sites_; }

  Tally& Library(uint16_t library) { return At(&libraries_, library); }
  Tally& Call(uint16_t call) { return At(&calls_, call); }
  Tally& Kind(MemoryKind memory) { return kinds_[static_cast<uint8_t>(memory)]; }
  DeviceLevel& Device(int16_t device);

  uint64_t allocated() const { return allocated_; }
  uint64_t requested() const { return requested_; }
  uint64_t reserved() const { return reserved_; }
  uint64_t host() const { return host_; }
  // The requested bytes of the pinned memory at the time when pinned memory was highest.
  uint64_t host_requested_at_peak() const { return host_requested_at_peak_; }
  uint64_t managed() const { return managed_; }
  // The number of the event at which the peak was reached. A block was live then if its
  // LiveBlock::birth is not larger.
  uint64_t peak_event() const { return peak_event_; }
  const Peak& peak() const { return peak_; }
  uint64_t largest_block() const { return largest_block_; }

  const std::vector<Tally>& libraries() const { return libraries_; }
  const std::vector<Tally>& calls() const { return calls_; }
  const std::array<Tally, 256>& kinds() const { return kinds_; }
  const std::array<SizeClass, 65>& sizes() const { return sizes_; }
  const std::vector<DeviceLevel>& devices() const { return devices_; }  // device d is at d + 1
  uint64_t epoch() const { return epoch_; }
  // The blocks that were live at the peak and have died since.
  const PeakBlocks& peak_blocks() const { return peak_blocks_; }

 private:
  static Tally& At(std::vector<Tally>* tallies, uint16_t index) {
    if (index >= tallies->size()) tallies->resize(index + size_t{1});
    return (*tallies)[index];
  }
  // The state before the birth of the latest block, as far as later changes would overwrite it. It
  // is valid until the next change of the levels.
  struct LastBirth {
    uint64_t event = 0;  // 0 if there is none, or anything has changed since
    uint64_t device_highest = 0;
    uint64_t epoch = 0;
    uint64_t peak_event = 0;
    Peak peak;
    PeakBlocks peak_blocks{0};
  };

  void BornElsewhere(const LiveBlock& block);
  void RememberBirth(const LiveBlock& block);
  void UndoPeak(const LiveBlock& block);
  void DiedElsewhere(const LiveBlock& block);
  void BornOnDevice(const LiveBlock& block, const Moment& now);

  uint64_t allocated_ = 0;
  uint64_t requested_ = 0;
  uint64_t reserved_ = 0;
  uint64_t host_ = 0;
  uint64_t host_requested_ = 0;
  uint64_t host_requested_at_peak_ = 0;
  uint64_t registered_ = 0;
  uint64_t managed_ = 0;
  uint64_t imported_ = 0;
  Peak peak_;
  uint64_t epoch_ = 0;
  uint64_t peak_event_ = 0;
  uint64_t largest_block_ = 0;

  std::vector<PeakLevel> sites_;
  std::vector<Tally> libraries_;
  std::vector<Tally> calls_;
  std::array<Tally, 256> kinds_;
  std::array<SizeClass, 65> sizes_;  // by the number of bits of the size
  std::vector<DeviceLevel> devices_;
  PeakBlocks peak_blocks_;
  LastBirth last_birth_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_LEVELS_H_
