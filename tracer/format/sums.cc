#include "tracer/format/sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tracer/format/layout.h"
#include "tracer/format/varint.h"

namespace vramstow {
namespace {

// These limits protect a reader of an untrusted trace; no valid trace exceeds them.
constexpr size_t kMaxSums = size_t{1} << 20;
constexpr size_t kMaxPoints = 4096;
constexpr size_t kMaxCuts = 65536;

// Reads `count` numbers. If fewer numbers lie before `end`, the others become 0.
bool ReadNumbers(const uint8_t* in, const uint8_t* end, uint64_t* numbers, size_t count) {
  std::memset(numbers, 0, count * sizeof *numbers);
  for (size_t i = 0; i < count && in < end; ++i) {
    in = ReadVarint(in, end, &numbers[i]);
    if (in == nullptr) return false;
  }
  return true;
}

bool ParseSum(const uint64_t* numbers, TraceSums* sums) {
  if (sums->sums.size() == kMaxSums || numbers[0] > 0xFF || numbers[1] > ~uint32_t{0}) {
    return false;
  }
  sums->sums.push_back({static_cast<SumOf>(numbers[0]), static_cast<uint32_t>(numbers[1]),
                        numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], numbers[7]});
  return true;
}

bool ParsePoint(const uint64_t* numbers, TraceSums* sums) {
  if (sums->points.size() == kMaxPoints) return false;
  sums->points.push_back({numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]});
  return true;
}

// Reads samples. The record contains three numbers and then the levels.
bool ParseSamples(const uint8_t* in, const uint8_t* end, TraceSums* sums) {
  constexpr uint64_t kMaxShift = 62;
  uint64_t numbers[kSampleNumbers];
  size_t count = 0;
  for (; count < kSampleNumbers && in < end; ++count) {
    in = ReadVarint(in, end, &numbers[count]);
    if (in == nullptr) return false;
  }
  constexpr size_t kFirst = kSampleNumbers - kMaxSamples;
  if (sums->samples.size() == kMaxSums || count < kFirst || numbers[0] > 0xFF ||
      numbers[1] > ~uint32_t{0} || numbers[2] > kMaxShift) {
    return false;
  }
  SumSamples samples = {static_cast<SumOf>(numbers[0]), static_cast<uint32_t>(numbers[1]),
                        numbers[2], count - kFirst};
  uint64_t level = 0;
  for (size_t i = 0; i < samples.count; ++i) {
    level += UnZigZag(numbers[kFirst + i]);
    if (level > ~uint32_t{0}) return false;
    samples.levels[i] = static_cast<uint32_t>(level);
  }
  sums->samples.push_back(samples);
  return true;
}

bool ParseCut(const uint64_t* numbers, TraceSums* sums) {
  if (sums->cuts.size() == kMaxCuts || numbers[0] > ~uint32_t{0}) return false;
  sums->cuts.push_back({static_cast<uint32_t>(numbers[0]), numbers[1]});
  return true;
}

bool ParseTotals(const uint64_t* numbers, TraceSums* sums) {
  std::array<uint64_t, kTotalNumbers> all;
  std::copy_n(numbers, all.size(), all.begin());
  sums->totals = std::bit_cast<SumTotals>(all);
  return sums->totals.point_shift < 64;
}

bool ParseRecord(RecordType type, const uint8_t* in, const uint8_t* end, TraceSums* sums,
                 uint64_t* chunks) {
  uint64_t numbers[kTotalNumbers > kSumNumbers ? kTotalNumbers : kSumNumbers];
  switch (type) {
    case RecordType::kSumTotals:
      return ReadNumbers(in, end, numbers, kTotalNumbers) && ParseTotals(numbers, sums);
    case RecordType::kSum:
      return ReadNumbers(in, end, numbers, kSumNumbers) && ParseSum(numbers, sums);
    case RecordType::kSumPoint:
      return ReadNumbers(in, end, numbers, kPointNumbers) && ParsePoint(numbers, sums);
    case RecordType::kSumSamples:
      return ParseSamples(in, end, sums);
    case RecordType::kSumCut:
      return ReadNumbers(in, end, numbers, 2) && ParseCut(numbers, sums);
    case RecordType::kLastSums:
      return ReadNumbers(in, end, chunks, 1);
    default:
      return true;
  }
}

}  // namespace

bool DecodeSums(const uint8_t* payload, size_t size, TraceSums* sums, uint64_t* chunks) {
  const uint8_t* in = payload;
  const uint8_t* const end = payload + size;
  while (in < end) {
    const RecordType type = static_cast<RecordType>(*in++);
    uint64_t length = 0;
    in = ReadVarint(in, end, &length);
    if (in == nullptr || length > static_cast<uint64_t>(end - in)) return false;
    if (!ParseRecord(type, in, in + length, sums, chunks)) return false;
    in += length;
  }
  return true;
}

}  // namespace vramstow
