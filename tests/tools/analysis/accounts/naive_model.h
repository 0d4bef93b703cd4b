// The simplest possible analysis: all live blocks are in plain lists, and every number is computed
// anew at every event. It is slow, and easy to verify.
#ifndef VRAMSTOW_TESTS_TOOLS_ANALYSIS_ACCOUNTS_NAIVE_MODEL_H_
#define VRAMSTOW_TESTS_TOOLS_ANALYSIS_ACCOUNTS_NAIVE_MODEL_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/event.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class NaiveModel {
 public:
  struct Thing {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t requested = 0;
    uint16_t library = 0;
    MemoryKind memory = MemoryKind::kNone;
    // These two members are used for physical memory only.
    uint64_t references = 0;
    std::set<uint64_t> mapped_at;
  };

  void Add(const Event& event);

  uint64_t Allocated() const;
  uint64_t Requested() const;
  Amount OfLibrary(uint16_t library) const { return OfLibrary(things_, library); }
  Amount OfLibraryAtPeak(uint16_t library) const { return OfLibrary(at_peak_, library); }
  // Returns the sizes of the blocks at the peak, the largest first.
  std::vector<uint64_t> SizesAtPeak() const;
  // Computes the free memory of an address space of kSpace bytes, byte by byte.
  FreeMemory Free(uint64_t request) const;

  static constexpr uint64_t kSpace = 4096;

  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t unseen = 0;
  uint64_t peak = 0;
  uint64_t peak_sequence = 0;
  uint64_t peak_requested = 0;

 private:
  using Things = std::vector<Thing>;
  struct Said {
    Event event;
    Things before;  // state that the announcement removed
    std::map<uint64_t, uint64_t> mappings;
    bool known = false;
  };

  static bool IsLive(const Thing& thing);
  static Amount OfLibrary(const Things& things, uint16_t library);
  Thing* Find(uint64_t address, MemoryKind memory);
  void Free(const Event& event);
  void Unmap(const Event& event);
  void Undo(const Event& event);
  void LookAtPeak(uint64_t sequence);

  Things things_;
  Things at_peak_;
  std::map<uint64_t, uint64_t> ranges_;    // address → size
  std::map<uint64_t, uint64_t> mappings_;  // address → size
  std::map<uint64_t, Said> said_;          // by sequence
};

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_TOOLS_ANALYSIS_ACCOUNTS_NAIVE_MODEL_H_
