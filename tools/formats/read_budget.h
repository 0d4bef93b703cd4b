// ReadBudget limits how many records are read from a pickle to what its length allows.
//
// Idea: two bytes of a pickle can repeat a record that was written once, so a small file may have
// more records than any memory holds. A file that a program writes has at least kBytesPerRecord
// bytes for each record, and one byte for each part of a record (a pair of a dict, a frame of a
// stack). What is read is counted in these bytes.
//
// Ownership: owns nothing. Threads: one. Errors: false, or an empty dict, once too much was read.
// Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_READ_BUDGET_H_
#define VRAMSTOW_TOOLS_FORMATS_READ_BUDGET_H_

#include <cstdint>
#include <span>

#include "tools/formats/pickle_value.h"

namespace vramstow {

class ReadBudget {
 public:
  static constexpr uint64_t kBytesPerRecord = 8;

  // A file of any length may have some records.
  explicit ReadBudget(uint64_t source_bytes) : left_(source_bytes + 1024 * kBytesPerRecord) {}

  // Counts one more record. Returns false if it is one too many.
  bool Visit() { return Spend(kBytesPerRecord); }
  // Counts so many parts of a record.
  bool Spend(uint64_t parts) {
    is_exceeded_ |= parts > left_;
    left_ = is_exceeded_ ? 0 : left_ - parts;
    return !is_exceeded_;
  }
  // Returns the keys and values of a dict, after counting its pairs.
  std::span<const PickleValue> PairsOf(PickleValue dict) {
    const std::span<const PickleValue> pairs = dict.AsDict();
    return Spend(pairs.size() / 2) ? pairs : std::span<const PickleValue>();
  }

  // Returns how many more records can be read.
  uint64_t records_left() const { return left_ / kBytesPerRecord; }
  // True if the file has more records than its length allows.
  bool is_exceeded() const { return is_exceeded_; }

 private:
  uint64_t left_;
  bool is_exceeded_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_READ_BUDGET_H_
