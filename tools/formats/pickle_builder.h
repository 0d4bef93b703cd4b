// PickleBuilder makes the values of a PickleTree, within the tree's budget of memory.
//
// Idea: numbers that do not fit into a value, texts, and the items of containers are allocated in
// the tree's arena. Equal texts are stored once. Each allocation is first booked against the
// budget.
//
// Ownership: the builder owns the tree until Finish. Threads: one. Errors: returns an empty
// optional or false if the budget is spent. Units: bytes.
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
  // Makes a number of any length from little-endian two's complement.
  std::optional<PickleValue> Long(std::string_view digits);
  std::optional<PickleValue> Float(double number);
  // Makes a text. If `stable` is true, the text must live as long as the bytes that are read. If it
  // is false, the text is copied.
  std::optional<PickleValue> Text(std::string_view text, bool stable);
  // Makes a list, tuple, dict or set with these items; those of a dict are alternating keys and
  // values.
  std::optional<PickleValue> Container(PickleKind kind, std::span<const PickleValue> items);
  // Appends values to a container.
  bool Extend(PickleItems* items, std::span<const PickleValue> values);

  // The arena, where other memory that grows with the contents is booked.
  Arena* arena() { return &tree_.arena_; }
  std::string_view TextOf(PickleValue value) const { return tree_.Text(value.AsText()); }

  // Returns the tree with this root. `damage` says why the tree is not complete; it is empty for a
  // complete tree.
  PickleTree Finish(PickleValue root, std::string damage, uint64_t source_bytes);

 private:
  std::optional<PickleValue> WideInteger(int64_t number);

  PickleTree tree_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PICKLE_BUILDER_H_
