#include "tools/formats/pickle_builder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace vramstow {
namespace {

constexpr uint64_t kTextEntryBytes = 64;  // a view, and a slot of the hash table that is half full
constexpr size_t kMaxItems = ~uint32_t{0};

// Makes a value from a number that does not fit into a value itself. The number is stored in the
// arena.
template <typename T>
std::optional<PickleValue> Wide(Arena* arena, PickleKind kind, T number) {
  void* memory = arena->Allocate(sizeof(T));
  if (memory == nullptr) return std::nullopt;
  return PickleValue::Object(kind, new (memory) T(number));
}

}  // namespace

std::optional<PickleValue> PickleBuilder::WideInteger(int64_t number) {
  return Wide(arena(), PickleKind::kWideInteger, number);
}

std::optional<PickleValue> PickleBuilder::Unsigned(uint64_t number) {
  if (number <= uint64_t{INT64_MAX}) return Integer(static_cast<int64_t>(number));
  return Wide(arena(), PickleKind::kUnsigned, number);
}

std::optional<PickleValue> PickleBuilder::Long(std::string_view digits) {
  const bool negative = !digits.empty() && static_cast<int8_t>(digits.back()) < 0;
  const char filler = negative ? '\xff' : '\0';
  // Bytes at the end that only repeat the sign are removed.
  while (digits.size() > sizeof(uint64_t) && digits.back() == filler) digits.remove_suffix(1);
  if (digits.size() > sizeof(uint64_t)) return PickleValue::OfKind(PickleKind::kHugeInteger);
  uint64_t number = negative ? ~uint64_t{0} : 0;
  if (!digits.empty()) std::memcpy(&number, digits.data(), digits.size());
  if (!negative) return Unsigned(number);
  if (number <= uint64_t{INT64_MAX}) return PickleValue::OfKind(PickleKind::kHugeInteger);
  return Integer(static_cast<int64_t>(number));
}

std::optional<PickleValue> PickleBuilder::Float(double number) {
  return Wide(arena(), PickleKind::kFloat, number);
}

std::optional<PickleValue> PickleBuilder::Text(std::string_view text, bool stable) {
  const auto found = tree_.text_numbers_.find(text);
  if (found != tree_.text_numbers_.end()) return PickleValue::Text(found->second);
  if (tree_.texts_.size() >= PickleValue::kNotAText || !arena()->Book(kTextEntryBytes)) {
    return std::nullopt;
  }
  if (!stable) {
    text = arena()->Copy(text);
    if (text.data() == nullptr) return std::nullopt;
  }
  const auto number = static_cast<uint32_t>(tree_.texts_.size());
  tree_.texts_.push_back(text);
  tree_.text_numbers_.emplace(text, number);
  return PickleValue::Text(number);
}

std::optional<PickleValue> PickleBuilder::Container(PickleKind kind,
                                                    std::span<const PickleValue> items) {
  void* memory = arena()->Allocate(sizeof(PickleItems));
  if (memory == nullptr) return std::nullopt;
  auto* made = new (memory) PickleItems;
  if (!Extend(made, items)) return std::nullopt;
  return PickleValue::Object(kind, made);
}

bool PickleBuilder::Extend(PickleItems* items, std::span<const PickleValue> values) {
  if (values.empty()) return true;
  if (values.size() > kMaxItems - items->size) return false;
  const size_t wanted = items->size + values.size();
  if (wanted > items->capacity) {
    // The first capacity is exact, because most containers are filled once. Later growth doubles
    // the capacity.
    size_t capacity = items->capacity == 0 ? wanted : std::max<size_t>(wanted, items->size * 2ULL);
    capacity = std::min(capacity, kMaxItems);
    auto* larger = static_cast<PickleValue*>(arena()->Allocate(capacity * sizeof(PickleValue)));
    if (larger == nullptr) return false;
    if (items->size != 0) std::copy_n(items->items, items->size, larger);
    items->items = larger;
    items->capacity = static_cast<uint32_t>(capacity);
  }
  std::copy(values.begin(), values.end(), items->items + items->size);
  items->size = static_cast<uint32_t>(wanted);
  return true;
}

PickleTree PickleBuilder::Finish(PickleValue root, std::string damage, uint64_t source_bytes) {
  tree_.root_ = root;
  tree_.damage_ = std::move(damage);
  tree_.source_bytes_ = source_bytes;
  return std::move(tree_);
}

}  // namespace vramstow
