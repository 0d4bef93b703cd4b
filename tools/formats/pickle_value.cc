#include "tools/formats/pickle_value.h"

namespace vramstow {

const char* PickleKindName(PickleKind kind) {
  switch (kind) {
    case PickleKind::kNone:
      return "None";
    case PickleKind::kFalse:
    case PickleKind::kTrue:
      return "a bool";
    case PickleKind::kInteger:
    case PickleKind::kWideInteger:
    case PickleKind::kUnsigned:
    case PickleKind::kHugeInteger:
    case PickleKind::kFloat:
      return "a number";
    case PickleKind::kText:
      return "a text";
    case PickleKind::kBytes:
      return "bytes";
    case PickleKind::kList:
      return "a list";
    case PickleKind::kTuple:
      return "a tuple";
    case PickleKind::kDict:
      return "a dict";
    case PickleKind::kSet:
      return "a set";
  }
  return "unknown";
}

std::optional<int64_t> PickleValue::AsSigned() const {
  switch (kind()) {
    case PickleKind::kFalse:
      return 0;
    case PickleKind::kTrue:
      return 1;
    case PickleKind::kInteger:
      return static_cast<int64_t>(bits_) >> 4;
    case PickleKind::kWideInteger:
      return *Pointer<int64_t>();
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> PickleValue::AsUnsigned() const {
  if (is(PickleKind::kUnsigned)) return *Pointer<uint64_t>();
  const std::optional<int64_t> number = AsSigned();
  if (!number || *number < 0) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

std::optional<double> PickleValue::AsFloat() const {
  if (is(PickleKind::kFloat)) return *Pointer<double>();
  if (is(PickleKind::kUnsigned)) return static_cast<double>(*Pointer<uint64_t>());
  const std::optional<int64_t> number = AsSigned();
  if (!number) return std::nullopt;
  return static_cast<double>(*number);
}

uint32_t PickleTree::FindText(std::string_view text) const {
  const auto found = text_numbers_.find(text);
  return found == text_numbers_.end() ? PickleValue::kNotAText : found->second;
}

}  // namespace vramstow
