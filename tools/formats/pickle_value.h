// PickleValue and PickleTree are the contents of a pickle as plain data.
//
// Idea: a value is eight bytes: its kind in the low four bits, and in the rest a small integer or a
// pointer into the tree's arena. A snapshot of a gigabyte has some hundred million values, so their
// size determines the cost of reading. Texts are interned: equal texts have equal numbers, so a
// field's name is compared as an integer.
//
// A tree may contain itself (a list that contains a list that contains the first one), so code that
// traverses it descends a fixed number of levels and never recurses to an unknown depth.
//
// Ownership: values and texts point into the tree, and short texts into the bytes that were read;
// both must outlive them. Threads: const calls are safe from any thread. Errors: none; an accessor
// for another kind returns an empty result. Units: none.
#ifndef VRAMSTOW_TOOLS_FORMATS_PICKLE_VALUE_H_
#define VRAMSTOW_TOOLS_FORMATS_PICKLE_VALUE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/formats/arena.h"

namespace vramstow {

enum class PickleKind : uint8_t {
  kNone = 0,
  kFalse,
  kTrue,
  kInteger,      // 60 bits, in the value itself
  kWideInteger,  // 64 bits, signed
  kUnsigned,     // above 2^63 - 1
  kHugeInteger,  // more than 64 bits; its value is not stored
  kFloat,
  kText,
  kBytes,
  kList,
  kTuple,
  kDict,
  kSet,
};

// Returns "a number", "a text" or "a list", for example, for use in sentences.
const char* PickleKindName(PickleKind kind);

class PickleValue;

// The items of a list, tuple or set; those of a dict are alternating keys and values.
struct alignas(16) PickleItems {
  PickleValue* items = nullptr;
  uint32_t size = 0;
  uint32_t capacity = 0;
};

class PickleValue {
 public:
  constexpr PickleValue() = default;
  static PickleValue OfKind(PickleKind kind) { return PickleValue(Bits(kind)); }
  // May be called only for numbers for which FitsInline returns true.
  static PickleValue Integer(int64_t number) {
    return PickleValue(static_cast<uint64_t>(number) << 4 | Bits(PickleKind::kInteger));
  }
  static bool FitsInline(int64_t number) { return number << 4 >> 4 == number; }
  static PickleValue Text(uint32_t text) {
    return PickleValue(uint64_t{text} << 4 | Bits(PickleKind::kText));
  }
  // `object` is 16-byte aligned: an int64_t, uint64_t, double or PickleItems.
  static PickleValue Object(PickleKind kind, const void* object) {
    return PickleValue(reinterpret_cast<uintptr_t>(object) | Bits(kind));
  }

  PickleKind kind() const { return static_cast<PickleKind>(bits_ & 15); }
  bool is(PickleKind kind) const { return this->kind() == kind; }
  bool is_sequence() const { return is(PickleKind::kList) || is(PickleKind::kTuple); }

  // Returns an integer of up to 64 bits; a bool is 0 or 1, as in Python.
  std::optional<int64_t> AsSigned() const;
  // Returns an integer from 0 to 2^64 - 1; a bool is 0 or 1.
  std::optional<uint64_t> AsUnsigned() const;
  std::optional<double> AsFloat() const;  // also accepts an integer
  // Returns the text's number in the tree, or kNotAText if the value is not a text.
  static constexpr uint32_t kNotAText = ~uint32_t{0};
  uint32_t AsText() const {
    return is(PickleKind::kText) ? static_cast<uint32_t>(bits_ >> 4) : kNotAText;
  }
  // Returns the elements of a list or tuple; empty for any other kind.
  std::span<const PickleValue> AsSequence() const { return is_sequence() ? Items() : Nothing(); }
  // Returns the keys and values of a dict, which alternate. The result is empty for any other kind.
  std::span<const PickleValue> AsDict() const {
    return is(PickleKind::kDict) ? Items() : Nothing();
  }
  // Returns a pointer that identifies a list, tuple, dict or set; null for any other kind.
  const PickleItems* identity() const {
    return kind() >= PickleKind::kList ? Pointer<PickleItems>() : nullptr;
  }
  PickleItems* items() const { return const_cast<PickleItems*>(identity()); }

 private:
  explicit constexpr PickleValue(uint64_t bits) : bits_(bits) {}
  std::span<const PickleValue> Items() const;
  static std::span<const PickleValue> Nothing() { return {}; }
  static constexpr uint64_t Bits(PickleKind kind) { return static_cast<uint64_t>(kind); }
  template <typename T>
  const T* Pointer() const {
    return reinterpret_cast<const T*>(bits_ & ~uint64_t{15});
  }

  uint64_t bits_ = 0;  // kNone
};
static_assert(sizeof(PickleValue) == 8);

inline std::span<const PickleValue> PickleValue::Items() const {
  const PickleItems* items = identity();
  return {items->items, items->size};
}

class PickleTree {
 public:
  explicit PickleTree(uint64_t max_bytes) : arena_(max_bytes) {}

  PickleValue root() const { return root_; }
  std::string_view Text(uint32_t text) const {
    return text < texts_.size() ? texts_[text] : std::string_view();
  }
  uint32_t text_count() const { return static_cast<uint32_t>(texts_.size()); }
  // Returns the number of a text that occurs in the tree, else PickleValue::kNotAText.
  uint32_t FindText(std::string_view text) const;

  // False if the bytes end early or are damaged; then `damage` has one sentence about it, and the
  // tree has what was readable before.
  bool complete() const { return damage_.empty(); }
  const std::string& damage() const { return damage_; }
  uint64_t bytes_used() const { return arena_.bytes_used(); }
  // Returns the length of the pickle. Code that expands shared parts of the tree uses it to limit
  // its work.
  uint64_t source_bytes() const { return source_bytes_; }

 private:
  friend class PickleBuilder;

  Arena arena_;
  std::vector<std::string_view> texts_;
  absl::flat_hash_map<std::string_view, uint32_t> text_numbers_;
  PickleValue root_;
  std::string damage_;
  uint64_t source_bytes_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PICKLE_VALUE_H_
