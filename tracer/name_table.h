// NameTable assigns small numbers to texts; equal texts get the same number.
//
// Idea: open addressing over texts that lie one after the other in a fixed arena; nothing is ever
// removed. The object lies in memory that is zero at first, of which only the pages in use cost
// anything.
//
// Ownership: copies the texts. Threads: one at a time. Errors: see Intern. No heap.
#ifndef VRAMSTOW_TRACER_NAME_TABLE_H_
#define VRAMSTOW_TRACER_NAME_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow {

class NameTable {
 public:
  static constexpr size_t kMaxNames = 8191;  // numbers 1 to kMaxNames
  static constexpr size_t kArenaBytes = 1024 * 1024;

  struct Result {
    uint16_t number;  // 0 if the table is full
    bool is_new;
  };
  Result Intern(std::string_view text);

  // Removes the name that was added last, because its number could not be written to the trace.
  void ForgetLast();

 private:
  struct Slot {
    uint32_t begin;  // the beginning of the text in the arena
    uint32_t length;
    uint32_t hash;
    uint32_t number;  // 0 if the slot is empty
  };
  static constexpr size_t kPlaces = 16384;  // a power of two, twice as many as names

  Slot places_[kPlaces];
  char arena_[kArenaBytes];
  uint32_t names_;
  uint32_t used_bytes_;
  uint32_t last_place_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_NAME_TABLE_H_
