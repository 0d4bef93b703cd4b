#include "tools/formats/unpickler.h"

#include <algorithm>
#include <utility>

#include "tools/formats/pickle_opcodes.h"
#include "tools/formats/text.h"
#include "tools/formats/unpickler_machine.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastBudget = uint64_t{64} << 20;
constexpr uint64_t kBudgetPerByte = 8;
// How far beyond the last one an index of the memo may lie and still be stored in the plain table.
constexpr uint64_t kMemoGap = 64;
constexpr uint64_t kSparseEntryBytes = 48;
constexpr uint64_t kTextEntryBytes = 64;  // a view, and a slot of the hash table that is half full
constexpr size_t kMostItems = ~uint32_t{0};

}  // namespace

absl::StatusOr<PickleTree> Unpickle(std::string_view bytes, const PickleLimits& limits) {
  uint64_t budget = limits.max_memory_bytes;
  if (budget == 0) budget = kLeastBudget + kBudgetPerByte * bytes.size();
  return Unpickler(bytes, budget).Run();
}

Unpickler::Unpickler(std::string_view bytes, uint64_t max_memory_bytes)
    : begin_(bytes.data()),
      end_(bytes.data() + bytes.size()),
      next_(begin_),
      opcode_start_(begin_),
      tree_(max_memory_bytes) {}

absl::StatusOr<PickleTree> Unpickler::Run() {
  Step step = Step::kNext;
  while (step == Step::kNext) {
    opcode_start_ = next_;
    step = next_ == end_ ? EndsEarly() : One(static_cast<uint8_t>(*next_++));
  }
  if (!refusal_.ok()) return refusal_;
  if (step == Step::kFailed) {
    if (!Salvage()) return absl::InvalidArgumentError(damage_);
    tree_.damage_ = damage_;
  }
  tree_.root_ = stack_.front();
  tree_.source_bytes_ = static_cast<uint64_t>(end_ - begin_);
  return std::move(tree_);
}

Unpickler::Step Unpickler::One(uint8_t opcode) {
  using namespace pickle;  // NOLINT(google-build-using-namespace): the opcodes, here only
  switch (opcode) {
    // What snapshots consist of comes first.
    case kBinGet: {
      uint8_t index;
      return Read(&index) ? Get(index) : EndsEarly();
    }
    case kLongBinGet: {
      uint32_t index;
      return Read(&index) ? Get(index) : EndsEarly();
    }
    case kMemoize:
      return Put(memo_count_);
    case kBinPut: {
      uint8_t index;
      return Read(&index) ? Put(index) : EndsEarly();
    }
    case kLongBinPut: {
      uint32_t index;
      return Read(&index) ? Put(index) : EndsEarly();
    }
    case kNone:
    case kNewTrue:
    case kNewFalse:
    case kBinInt:
    case kBinInt1:
    case kBinInt2:
    case kLong1:
    case kLong4:
    case kBinFloat:
      return Scalar(opcode);
    case kShortBinUnicode:
    case kBinUnicode:
    case kBinUnicode8:
    case kShortBinString:
    case kBinString:
    case kShortBinBytes:
    case kBinBytes:
    case kBinBytes8:
    case kByteArray8:
      return TextOrBytes(opcode);
    case kEmptyList:
    case kEmptyTuple:
    case kEmptyDict:
    case kEmptySet:
    case kList:
    case kTuple:
    case kDict:
    case kFrozenSet:
    case kTuple1:
    case kTuple2:
    case kTuple3:
    case kAppend:
    case kAppends:
    case kSetItem:
    case kSetItems:
    case kAddItems:
      return Container(opcode);
    case kMark:
    case kPop:
    case kPopMark:
    case kDup:
    case kStop:
    case kProtocol:
    case kFrame:
      return StackOrMemo(opcode);
    case kIntText:
    case kLongText:
    case kFloatText:
    case kStringText:
    case kUnicodeText:
    case kGetText:
    case kPutText:
      return TextProtocol(opcode);
    default:
      return Refuse(opcode);
  }
}

Unpickler::Step Unpickler::Scalar(uint8_t opcode) {
  switch (opcode) {
    case pickle::kNone:
      return Push(PickleValue());
    case pickle::kNewTrue:
      return Push(PickleValue::OfKind(PickleKind::kTrue));
    case pickle::kNewFalse:
      return Push(PickleValue::OfKind(PickleKind::kFalse));
    case pickle::kBinInt1: {
      uint8_t number;
      return Read(&number) ? PushInteger(number) : EndsEarly();
    }
    case pickle::kBinInt2: {
      uint16_t number;
      return Read(&number) ? PushInteger(number) : EndsEarly();
    }
    case pickle::kBinInt: {
      int32_t number;
      return Read(&number) ? PushInteger(number) : EndsEarly();
    }
    case pickle::kLong1: {
      uint8_t size;
      std::string_view digits;
      return Read(&size) && ReadBytes(size, &digits) ? PushLong(digits) : EndsEarly();
    }
    case pickle::kLong4: {
      int32_t size;
      std::string_view digits;
      if (!Read(&size)) return EndsEarly();
      if (size < 0) return Damaged("a number has a negative length");
      return ReadBytes(static_cast<uint64_t>(size), &digits) ? PushLong(digits) : EndsEarly();
    }
    default:
      return Float();
  }
}

Unpickler::Step Unpickler::TextOrBytes(uint8_t opcode) {
  uint64_t size = 0;
  switch (opcode) {
    case pickle::kShortBinUnicode:
    case pickle::kShortBinString:
    case pickle::kShortBinBytes: {
      uint8_t short_size;
      if (!Read(&short_size)) return EndsEarly();
      size = short_size;
      break;
    }
    case pickle::kBinString: {
      int32_t signed_size;
      if (!Read(&signed_size)) return EndsEarly();
      if (signed_size < 0) return Damaged("a text has a negative length");
      size = static_cast<uint64_t>(signed_size);
      break;
    }
    case pickle::kBinUnicode:
    case pickle::kBinBytes: {
      uint32_t usual_size;
      if (!Read(&usual_size)) return EndsEarly();
      size = usual_size;
      break;
    }
    default:
      if (!Read(&size)) return EndsEarly();
  }
  std::string_view bytes;
  if (!ReadBytes(size, &bytes)) return EndsEarly();
  switch (opcode) {
    case pickle::kShortBinBytes:
    case pickle::kBinBytes:
    case pickle::kBinBytes8:
    case pickle::kByteArray8:
      return PushBytes();
    default:
      return PushText(bytes, /*stable=*/true);
  }
}

Unpickler::Step Unpickler::Container(uint8_t opcode) {
  switch (opcode) {
    case pickle::kEmptyList:
      return PushItems(PickleKind::kList, stack_.size());
    case pickle::kEmptyTuple:
      return PushItems(PickleKind::kTuple, stack_.size());
    case pickle::kEmptyDict:
      return PushItems(PickleKind::kDict, stack_.size());
    case pickle::kEmptySet:
      return PushItems(PickleKind::kSet, stack_.size());
    case pickle::kTuple1:
    case pickle::kTuple2:
    case pickle::kTuple3: {
      const size_t count = opcode - pickle::kTuple1 + size_t{1};
      if (!Has(count)) return Damaged("a tuple lacks its items");
      return PushItems(PickleKind::kTuple, stack_.size() - count);
    }
    case pickle::kAppend:
      return AddToTop(PickleKind::kList, 1);
    case pickle::kSetItem:
      return AddToTop(PickleKind::kDict, 2);
    case pickle::kAppends:
      return AddFromMark(PickleKind::kList);
    case pickle::kSetItems:
      return AddFromMark(PickleKind::kDict);
    case pickle::kAddItems:
      return AddFromMark(PickleKind::kSet);
    default:
      break;
  }
  if (marks_.empty()) return Damaged("a list, tuple or dict ends that did not begin");
  const size_t first = marks_.back();
  marks_.pop_back();
  switch (opcode) {
    case pickle::kList:
      return PushItems(PickleKind::kList, first);
    case pickle::kTuple:
      return PushItems(PickleKind::kTuple, first);
    case pickle::kDict:
      if ((stack_.size() - first) % 2 != 0) return Damaged("a dict has a key without a value");
      return PushItems(PickleKind::kDict, first);
    default:
      return PushItems(PickleKind::kSet, first);
  }
}

Unpickler::Step Unpickler::StackOrMemo(uint8_t opcode) {
  switch (opcode) {
    case pickle::kMark:
      if (!Grow(&marks_)) return OutOfMemory();
      marks_.push_back(stack_.size());
      return Step::kNext;
    case pickle::kPop:
      if (Has(1)) {
        stack_.pop_back();
      } else if (!marks_.empty()) {
        marks_.pop_back();
      } else {
        return Damaged("something is taken from an empty stack");
      }
      return Step::kNext;
    case pickle::kPopMark:
      if (marks_.empty()) return Damaged("a mark is taken that was not set");
      stack_.resize(marks_.back());
      marks_.pop_back();
      return Step::kNext;
    case pickle::kDup:
      if (!Has(1)) return Damaged("something is doubled on an empty stack");
      return Push(stack_.back());
    case pickle::kProtocol:
      return Protocol();
    case pickle::kFrame: {
      // Frames only help to read ahead; what they promise is checked by every later read.
      uint64_t size;
      return Read(&size) ? Step::kNext : EndsEarly();
    }
    default:
      break;
  }
  if (!marks_.empty() || stack_.size() != 1) {
    return Damaged("the pickle ends while something is still open");
  }
  return Step::kStopped;
}

Unpickler::Step Unpickler::Protocol() {
  uint8_t version;
  if (!Read(&version)) return EndsEarly();
  if (version <= kNewestPickleProtocol) return Step::kNext;
  return Damaged(Concat("the pickle protocol ", version, " is newer than ", kNewestPickleProtocol,
                        ", the newest known"));
}

Unpickler::Step Unpickler::Push(PickleValue value) {
  if (!Grow(&stack_)) return OutOfMemory();
  stack_.push_back(value);
  return Step::kNext;
}

Unpickler::Step Unpickler::PushInteger(int64_t number) {
  if (PickleValue::FitsInline(number)) return Push(PickleValue::Integer(number));
  auto* wide = static_cast<int64_t*>(tree_.arena_.Allocate(sizeof(int64_t)));
  if (wide == nullptr) return OutOfMemory();
  *wide = number;
  return Push(PickleValue::Object(PickleKind::kWideInteger, wide));
}

Unpickler::Step Unpickler::PushUnsigned(uint64_t number) {
  if (number <= uint64_t{INT64_MAX}) return PushInteger(static_cast<int64_t>(number));
  auto* wide = static_cast<uint64_t*>(tree_.arena_.Allocate(sizeof(uint64_t)));
  if (wide == nullptr) return OutOfMemory();
  *wide = number;
  return Push(PickleValue::Object(PickleKind::kUnsigned, wide));
}

Unpickler::Step Unpickler::PushLong(std::string_view digits) {
  const bool negative = !digits.empty() && static_cast<int8_t>(digits.back()) < 0;
  const char filler = negative ? '\xff' : '\0';
  // Bytes that only repeat the sign say nothing.
  while (digits.size() > sizeof(uint64_t) && digits.back() == filler) digits.remove_suffix(1);
  if (digits.size() > sizeof(uint64_t)) {
    return Push(PickleValue::OfKind(PickleKind::kHugeInteger));
  }
  uint64_t number = negative ? ~uint64_t{0} : 0;
  if (!digits.empty()) std::memcpy(&number, digits.data(), digits.size());
  if (!negative) return PushUnsigned(number);
  if (number <= uint64_t{INT64_MAX}) return Push(PickleValue::OfKind(PickleKind::kHugeInteger));
  return PushInteger(static_cast<int64_t>(number));
}

Unpickler::Step Unpickler::PushFloat(double number) {
  auto* wide = static_cast<double*>(tree_.arena_.Allocate(sizeof(double)));
  if (wide == nullptr) return OutOfMemory();
  *wide = number;
  return Push(PickleValue::Object(PickleKind::kFloat, wide));
}

Unpickler::Step Unpickler::Float() {
  uint64_t big_endian;
  if (!Read(&big_endian)) return EndsEarly();
  return PushFloat(std::bit_cast<double>(__builtin_bswap64(big_endian)));
}

Unpickler::Step Unpickler::PushText(std::string_view text, bool stable) {
  const auto found = tree_.text_numbers_.find(text);
  if (found != tree_.text_numbers_.end()) return Push(PickleValue::Text(found->second));
  if (tree_.texts_.size() >= PickleValue::kNotAText || !tree_.arena_.Book(kTextEntryBytes)) {
    return OutOfMemory();
  }
  if (!stable) {
    text = tree_.arena_.Copy(text);
    if (text.data() == nullptr) return OutOfMemory();
  }
  const auto number = static_cast<uint32_t>(tree_.texts_.size());
  tree_.texts_.push_back(text);
  tree_.text_numbers_.emplace(text, number);
  return Push(PickleValue::Text(number));
}

// Nothing that is read here has bytes in it: that there were some is all that is kept.
Unpickler::Step Unpickler::PushBytes() { return Push(PickleValue::OfKind(PickleKind::kBytes)); }

Unpickler::Step Unpickler::PushItems(PickleKind kind, size_t first) {
  void* memory = tree_.arena_.Allocate(sizeof(PickleItems));
  if (memory == nullptr) return OutOfMemory();
  auto* items = new (memory) PickleItems;
  if (!Extend(items, stack_.data() + first, stack_.size() - first)) return OutOfMemory();
  stack_.resize(first);
  return Push(PickleValue::Object(kind, items));
}

bool Unpickler::Extend(PickleItems* items, const PickleValue* values, size_t count) {
  if (count == 0) return true;
  if (count > kMostItems - items->size) return false;
  const size_t wanted = items->size + count;
  if (wanted > items->capacity) {
    // Exact at first, because most are filled once; doubled afterwards.
    size_t capacity = items->capacity == 0 ? wanted : std::max<size_t>(wanted, items->size * 2ULL);
    capacity = std::min(capacity, kMostItems);
    auto* larger = static_cast<PickleValue*>(tree_.arena_.Allocate(capacity * sizeof(PickleValue)));
    if (larger == nullptr) return false;
    if (items->size != 0) std::copy_n(items->items, items->size, larger);
    items->items = larger;
    items->capacity = static_cast<uint32_t>(capacity);
  }
  std::copy_n(values, count, items->items + items->size);
  items->size = static_cast<uint32_t>(wanted);
  return true;
}

Unpickler::Step Unpickler::AddToTop(PickleKind kind, size_t count) {
  if (!Has(count + 1)) return Damaged("something is added to nothing");
  const size_t first = stack_.size() - count;
  const PickleValue target = stack_[first - 1];
  if (!target.is(kind)) {
    return Damaged(Concat("something is added to ", PickleKindName(target.kind()),
                          " as if it were ", PickleKindName(kind)));
  }
  if (!Extend(target.items(), stack_.data() + first, count)) return OutOfMemory();
  stack_.resize(first);
  return Step::kNext;
}

Unpickler::Step Unpickler::AddFromMark(PickleKind kind) {
  if (marks_.empty()) return Damaged("a list, set or dict ends that did not begin");
  const size_t count = stack_.size() - marks_.back();
  if (kind == PickleKind::kDict && count % 2 != 0) {
    return Damaged("a dict has a key without a value");
  }
  marks_.pop_back();
  return AddToTop(kind, count);
}

Unpickler::Step Unpickler::Put(uint64_t index) {
  if (!Has(1)) return Damaged("nothing is there to be remembered");
  const PickleValue value = stack_.back();
  if (index > memo_.size() + kMemoGap) {
    if (!tree_.arena_.Book(kSparseEntryBytes)) return OutOfMemory();
    if (sparse_memo_.insert_or_assign(index, value).second) ++memo_count_;
    return Step::kNext;
  }
  while (memo_.size() <= index) {
    if (!Grow(&memo_)) return OutOfMemory();
    memo_.emplace_back();
    memo_set_.push_back(false);
  }
  if (!memo_set_[index]) ++memo_count_;
  memo_[index] = value;
  memo_set_[index] = true;
  return Step::kNext;
}

Unpickler::Step Unpickler::Get(uint64_t index) {
  if (index < memo_.size() && memo_set_[index]) return Push(memo_[index]);
  if (!sparse_memo_.empty()) {
    const auto found = sparse_memo_.find(index);
    if (found != sparse_memo_.end()) return Push(found->second);
  }
  return Damaged(Concat("number ", index, " was never remembered"));
}

// In a dict that is still open lie keys and values by turns. What is no text where a key is due
// was about to be appended, one by one, to the list before it.
void Unpickler::FoldOpenValues(size_t first) {
  size_t kept = first;
  for (size_t key = first; key + 1 < stack_.size();) {
    size_t end = key + 2;
    while (end < stack_.size() && !stack_[end].is(PickleKind::kText)) ++end;
    for (size_t child = end - 1; child > key + 1; --child) {
      const PickleValue parent = stack_[child - 1];
      if (parent.is(PickleKind::kList)) Extend(parent.items(), &stack_[child], 1);
    }
    stack_[kept++] = stack_[key];
    stack_[kept++] = stack_[key + 1];
    key = end;
  }
  stack_.resize(kept);
}

bool Unpickler::Salvage() {
  while (!marks_.empty()) {
    const size_t first = marks_.back();
    marks_.pop_back();
    if (first > fence()) {
      const PickleValue target = stack_[first - 1];
      if (target.is(PickleKind::kDict)) FoldOpenValues(first);
      const bool open = target.is(PickleKind::kDict) || target.is(PickleKind::kList);
      const size_t count = stack_.size() - first;
      if (open && !Extend(target.items(), stack_.data() + first, count)) return false;
    }
    stack_.resize(first);
  }
  // A list or dict with nothing in it is not worth the name of a partial result.
  if (stack_.empty()) return false;
  const PickleItems* items = stack_.front().identity();
  return items != nullptr && items->size != 0;
}

}  // namespace vramstow
