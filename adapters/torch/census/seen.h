// Seen stores the objects that the census has reached, each once, and the object that led to it.
//
// Idea: entries are stored in the order in which they were found, so the same list is the queue of
// a breadth-first search. Each entry stores its predecessor. A chain is described by following the
// predecessors back.
//
// Ownership: its memory, which is mapped and grows in steps; none of the objects. Threads: one at a
// time. Errors: when its memory is used up nothing is added, and is_full() returns true. Units:
// none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_SEEN_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_SEEN_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace vramstow::torch_census {

// The kind of an entry, stored in the lowest bits of its address.
enum class What : uint8_t { kObject = 0, kNode = 1, kImpl = 2 };

// The number of an entry, or kNowhere for none.
using EntryIndex = uint32_t;
inline constexpr EntryIndex kNowhere = ~EntryIndex{0};

struct Entry {
  uint64_t key = 0;
  EntryIndex from = kNowhere;  // its predecessor, or a root's number with kIsRoot
  uint32_t nth = 0;            // its number among its predecessor's references

  static constexpr EntryIndex kIsRoot = EntryIndex{1} << 31;
  What what() const { return static_cast<What>(key & 7); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(key & ~uint64_t{7});
  }
};

class Seen {
 public:
  static constexpr size_t kMaxBytes = size_t{96} << 20;

  explicit Seen(size_t most_entries = kMaxEntries) : most_(most_entries) {}
  ~Seen() {
    Unmap(entries_, most_ * sizeof(Entry));
    Unmap(places_, capacity_ * sizeof(EntryIndex));
  }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;

  size_t size() const { return count_; }
  bool is_full() const { return is_full_; }
  const Entry& operator[](EntryIndex place) const { return entries_[place]; }

  // Returns true if the entry is new and there was room.
  bool Add(const void* address, What what, EntryIndex from, uint32_t nth) {
    const uint64_t key = reinterpret_cast<uint64_t>(address) | static_cast<uint64_t>(what);
    if ((count_ + 1) * 2 > capacity_ && !Grow()) return false;
    const size_t index = IndexOf(key);
    if (places_[index] != 0) return false;
    entries_[count_] = {key, from, nth};
    places_[index] = static_cast<EntryIndex>(++count_);
    return true;
  }

  EntryIndex Find(const void* address, What what) const {
    if (capacity_ == 0) return kNowhere;
    const EntryIndex found =
        places_[IndexOf(reinterpret_cast<uint64_t>(address) | static_cast<uint64_t>(what))];
    return found == 0 ? kNowhere : found - 1;
  }

 private:
  static constexpr size_t kFirstPlaces = size_t{1} << 16;
  // An entry takes 16 bytes. Its two slots of the table take 4 bytes each; directly after the table
  // has grown, an entry has four slots.
  static constexpr size_t kMaxEntries = kMaxBytes / 24;

  size_t IndexOf(uint64_t key) const {
    const size_t mask = capacity_ - 1;
    size_t index = static_cast<size_t>((key * 0x9e3779b97f4a7c15U) >> 24) & mask;
    while (places_[index] != 0 && entries_[places_[index] - 1].key != key) {
      index = (index + 1) & mask;
    }
    return index;
  }

  bool Grow() {
    if (entries_ == nullptr) {
      entries_ = static_cast<Entry*>(Map(most_ * sizeof(Entry)));
      if (entries_ == nullptr) return Fail();
    }
    const size_t capacity = capacity_ == 0 ? kFirstPlaces : capacity_ * 2;
    if (capacity / 2 > most_ + 1) return Fail();
    auto* places = static_cast<EntryIndex*>(Map(capacity * sizeof(EntryIndex)));
    if (places == nullptr) return Fail();
    Unmap(places_, capacity_ * sizeof(EntryIndex));
    places_ = places;
    capacity_ = capacity;
    for (size_t i = 0; i < count_; ++i) {
      places_[IndexOf(entries_[i].key)] = static_cast<EntryIndex>(i + 1);
    }
    return true;
  }
  bool Fail() {
    is_full_ = true;
    return false;
  }
  // Maps memory. Only the pages that are written occupy physical memory.
  static void* Map(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  static void Unmap(void* memory, size_t bytes) {
    if (memory != nullptr) munmap(memory, bytes);
  }

  const size_t most_;
  Entry* entries_ = nullptr;
  EntryIndex* places_ = nullptr;  // an entry's number plus one; 0 if empty
  size_t capacity_ = 0;
  size_t count_ = 0;
  bool is_full_ = false;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_SEEN_H_
