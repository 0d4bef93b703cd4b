// Encodes sums. This file is separate from the decoder, because the recorder runs in a foreign
// process, and the decoder's vectors must not be linked there.
#include <cstring>

#include "tracer/format/layout.h"
#include "tracer/format/sums.h"
#include "tracer/format/varint.h"

namespace vramstow {
namespace {

uint8_t* EncodeNumbers(uint8_t* out, RecordType type, const uint64_t* numbers, size_t count) {
  uint8_t bytes[kMaxSumRecordBytes];
  uint8_t* end = bytes;
  for (size_t i = 0; i < count; ++i) end = WriteVarint(end, numbers[i]);
  const size_t length = static_cast<size_t>(end - bytes);
  *out++ = static_cast<uint8_t>(type);
  out = WriteVarint(out, length);
  std::memcpy(out, bytes, length);
  return out + length;
}
static_assert(kMaxSumRecordBytes >= (2 + kTotalNumbers) * kMaxVarintBytes);
static_assert(kMaxSumRecordBytes >= (2 + kSampleNumbers) * kMaxVarintBytes);

}  // namespace

uint8_t* EncodeTotals(uint8_t* out, const SumTotals& totals) {
  uint64_t numbers[kTotalNumbers];
  std::memcpy(numbers, &totals, sizeof numbers);
  return EncodeNumbers(out, RecordType::kSumTotals, numbers, kTotalNumbers);
}

uint8_t* EncodeSum(uint8_t* out, const TraceSum& sum) {
  const uint64_t numbers[kSumNumbers] = {static_cast<uint8_t>(sum.of),
                                         sum.number,
                                         sum.calls,
                                         sum.allocations,
                                         sum.frees,
                                         sum.bytes,
                                         sum.highest_device,
                                         sum.highest_other};
  return EncodeNumbers(out, RecordType::kSum, numbers, kSumNumbers);
}

uint8_t* EncodePoint(uint8_t* out, const SumPoint& point) {
  const uint64_t numbers[kPointNumbers] = {point.allocated_highest, point.reserved_highest,
                                           point.host_highest,      point.managed_highest,
                                           point.allocated_last,    point.requested_last};
  return EncodeNumbers(out, RecordType::kSumPoint, numbers, kPointNumbers);
}

// A level is stored as the signed difference to the previous one, because most levels do not
// change.
uint8_t* EncodeSamples(uint8_t* out, const SumSamples& samples) {
  uint64_t numbers[kSampleNumbers] = {static_cast<uint8_t>(samples.of), samples.number,
                                      samples.shift};
  const size_t count = samples.count < kMaxSamples ? samples.count : kMaxSamples;
  uint64_t before = 0;
  for (size_t i = 0; i < count; ++i) {
    numbers[kSampleNumbers - kMaxSamples + i] = ZigZag(samples.levels[i] - before);
    before = samples.levels[i];
  }
  return EncodeNumbers(out, RecordType::kSumSamples, numbers, kSampleNumbers - kMaxSamples + count);
}

uint8_t* EncodeCut(uint8_t* out, const SumCut& cut) {
  const uint64_t numbers[] = {cut.buffer, cut.last_number};
  return EncodeNumbers(out, RecordType::kSumCut, numbers, 2);
}

uint8_t* EncodeLastSums(uint8_t* out, uint64_t chunks) {
  return EncodeNumbers(out, RecordType::kLastSums, &chunks, 1);
}

}  // namespace vramstow
