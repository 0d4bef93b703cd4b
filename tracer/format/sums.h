// TraceSums contains the sums that replace older events in a trace of a limited size.
//
// Idea: of its older events such a trace retains only those that its peak and its live blocks
// depend on. All other events are added up: calls by function, allocations by call site, the
// highest levels, and levels over time. Levels are those of all events; counts are those of the
// removed events.
//
// Ownership: plain values. Threads: values. Errors: SumDecoder returns false for invalid bytes, and
// has then decoded a part. Units: bytes, nanoseconds. Described in docs/trace-format.md.
#ifndef VRAMSTOW_TRACER_FORMAT_SUMS_H_
#define VRAMSTOW_TRACER_FORMAT_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vramstow {

// The object that a sum counts. The values are stored in traces: only append.
enum class SumOf : uint8_t {
  kKind = 0,       // an EventKind: only calls
  kLibrary = 1,    // all counts
  kCall = 2,       // all counts
  kMemory = 3,     // a MemoryKind: all counts
  kStack = 4,      // a call site by its stack: allocations and bytes of device memory
  kCaller = 5,     // a call site by library × 65536 + call: as kStack
  kSizeClass = 6,  // device memory by the number of bits of its size: as kStack
  kDevice = 7,     // device + 1: highest_device is allocated, highest_other reserved memory
};

struct TraceSum {
  SumOf of = SumOf::kKind;
  uint32_t number = 0;
  uint64_t calls = 0;
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t bytes = 0;
  uint64_t highest_device = 0;  // its highest level of device memory
  uint64_t highest_other = 0;   // its highest level of host and managed memory
};

// One interval of the levels over time.
struct SumPoint {
  uint64_t allocated_highest = 0;
  uint64_t reserved_highest = 0;
  uint64_t host_highest = 0;
  uint64_t managed_highest = 0;
  uint64_t allocated_last = 0;
  uint64_t requested_last = 0;
};

// Totals over the removed events. They are stored as a list of numbers in this order: only append.
struct SumTotals {
  uint64_t events = 0;         // the number of removed events
  uint64_t until_ns = 0;       // the time of the last event that was folded or retained
  uint64_t lost_events = 0;    // events that were overwritten before they were folded
  uint64_t left_out = 0;       // those of `events` that more room would have retained
  uint64_t allocations = 0;    // for memory of any kind
  uint64_t frees = 0;          // for memory of any kind
  uint64_t device_blocks = 0;  // removed blocks of device memory
  uint64_t largest_block = 0;  // the largest removed block of device memory
  uint64_t largest_request = 0;
  uint64_t peak_reserved = 0;
  uint64_t peak_requested = 0;
  uint64_t peak_host = 0;
  uint64_t host_requested_at_peak = 0;
  uint64_t peak_registered = 0;
  uint64_t peak_managed = 0;
  uint64_t point_shift = 0;  // an interval is 2^point_shift nanoseconds
};
inline constexpr size_t kTotalNumbers = sizeof(SumTotals) / sizeof(uint64_t);
inline constexpr size_t kSumNumbers = 8;    // the numbers in the record of a TraceSum
inline constexpr size_t kPointNumbers = 6;  // the numbers in the record of a SumPoint

// Samples of the live device memory of a call site (kStack, kCaller), or of all sites together
// (kDevice, number 0), at moments at equal distances (sample_clock.h). There are at most
// kMaxSamples.
inline constexpr size_t kMaxSamples = 64;
inline constexpr uint64_t kSampleUnit = 512;
struct SumSamples {
  SumOf of = SumOf::kDevice;
  uint32_t number = 0;
  uint64_t shift = 0;
  uint64_t count = 0;
  uint32_t levels[kMaxSamples] = {};  // levels in units of kSampleUnit
};
inline constexpr size_t kSampleNumbers = 3 + kMaxSamples;  // the most numbers in its record
inline constexpr uint32_t SampleOf(uint64_t bytes) {
  const uint64_t units = bytes / kSampleUnit;
  return units > ~uint32_t{0} ? ~uint32_t{0} : static_cast<uint32_t>(units);
}

// The number of the last event of a buffer that was folded (replaced by sums).
struct SumCut {
  uint32_t buffer = 0;
  uint64_t last_number = 0;
};

struct TraceSums {
  SumTotals totals;
  std::vector<TraceSum> sums;
  std::vector<SumPoint> points;  // the levels from the beginning of the trace on
  std::vector<SumSamples> samples;
  std::vector<SumCut> cuts;
};

// The largest number of bytes of a record of sums.
inline constexpr size_t kMaxSumRecordBytes = 640;

// Writes a record at `out`, where there is room for kMaxSumRecordBytes. Returns the address after
// it.
uint8_t* EncodeTotals(uint8_t* out, const SumTotals& totals);
uint8_t* EncodeSum(uint8_t* out, const TraceSum& sum);
uint8_t* EncodePoint(uint8_t* out, const SumPoint& point);
uint8_t* EncodeSamples(uint8_t* out, const SumSamples& samples);
uint8_t* EncodeCut(uint8_t* out, const SumCut& cut);
// Writes the last record of a generation of sums. It contains the number of chunks in this
// generation, including the chunk with this record.
uint8_t* EncodeLastSums(uint8_t* out, uint64_t chunks);

// Adds the records of a chunk to *sums. Sets *chunks to the number that EncodeLastSums wrote;
// without such a record it is unchanged.
bool DecodeSums(const uint8_t* payload, size_t size, TraceSums* sums, uint64_t* chunks);

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_SUMS_H_
