// PickleBuilder: makes the values of a PickleTree, within the tree's budget of memory.
//
// Idea: numbers that do not fit into a value, texts, and the items of containers lie in the tree's
// arena. Equal texts are stored once. Nothing is made whose memory the budget does not have.
//
// Ownership: the builder owns the tree until Finish. Threads: one. Errors: an empty optional or
// false where the budget is spent. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_PICKLE_BUILDER_H_
#define VRAMSTOW_TOOLS_FORMATS_PICKLE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/formats/arena.h"
#include "tools/formats/pickle_value.h"

namespace vramstow {

class PickleBuilder {
 public:
  explicit PickleBuilder(uint64_t max_memory_bytes) : tree_(max_memory_bytes) {}

  std::optional<PickleValue> Integer(int64_t number) {
    if (PickleValue::FitsInline(number)) return PickleValue::Integer(number);
    return WideInteger(number);
  }
  std::optional<PickleValue> Unsigned(uint64_t number);
  // A number of any length: little-endian two's complement.
  std::optional<PickleValue> Long(std::string_view digits);
  std::optional<PickleValue> Float(double number);
  // `stable`: the text lives as long as the bytes that are read; otherwise it is copied.
  std::optional<PickleValue> Text(std::string_view text, bool stable);
  // A new list, tuple, dict or set with these items; of a dict keys and values by turns.
  std::optional<PickleValue> Container(PickleKind kind, std::span<const PickleValue> items);
  // Adds values to the end of a container.
  bool Extend(PickleItems* items, std::span<const PickleValue> values);

  // What else grows with the contents is booked here.
  Arena* arena() { return &tree_.arena_; }
  std::string_view TextOf(PickleValue value) const { return tree_.Text(value.AsText()); }

  // The tree with this root. `damage`: why it is not complete; empty if it is.
  PickleTree Finish(PickleValue root, std::string damage, uint64_t source_bytes);

 private:
  std::optional<PickleValue> WideInteger(int64_t number);

  PickleTree tree_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PICKLE_BUILDER_H_
