#include "tools/formats/unpickler.h"

#include <bit>
#include <utility>

#include "tools/formats/pickle_opcodes.h"
#include "tools/formats/text_helpers.h"
#include "tools/formats/unpickler_machine.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastBudget = uint64_t{64} << 20;
constexpr uint64_t kBudgetPerByte = 8;

}  // namespace

absl::StatusOr<PickleTree> Unpickle(std::string_view bytes, const PickleLimits& limits) {
  uint64_t budget = limits.max_memory_bytes;
  if (budget == 0) budget = kLeastBudget + kBudgetPerByte * bytes.size();
  return Unpickler(bytes, budget).Run();
}

Unpickler::Unpickler(std::string_view bytes, uint64_t max_memory_bytes)
    : bytes_(bytes),
      builder_(max_memory_bytes),
      stack_(builder_.arena()),
      memo_(builder_.arena()) {}

absl::StatusOr<PickleTree> Unpickler::Run() {
  Step step = Step::kNext;
  while (step == Step::kNext) {
    opcode_offset_ = bytes_.offset();
    step = bytes_.at_end() ? EndsEarly() : One(bytes_.Next());
  }
  if (!refusal_.ok()) return refusal_;
  if (step == Step::kFailed && !stack_.CloseOpenContainers(&builder_)) {
    return absl::InvalidArgumentError(damage_);
  }
  return builder_.Finish(stack_[0], std::move(damage_), bytes_.size());
}

Unpickler::Step Unpickler::One(uint8_t opcode) {
  using namespace pickle;  // NOLINT(google-build-using-namespace): the opcodes, here only
  switch (opcode) {
    // These opcodes come first, because snapshots mostly consist of them.
    case kBinGet: {
      uint8_t index;
      return bytes_.Read(&index) ? Get(index) : EndsEarly();
    }
    case kLongBinGet: {
      uint32_t index;
      return bytes_.Read(&index) ? Get(index) : EndsEarly();
    }
    case kMemoize:
      return Put(memo_.count());
    case kBinPut: {
      uint8_t index;
      return bytes_.Read(&index) ? Put(index) : EndsEarly();
    }
    case kLongBinPut: {
      uint32_t index;
      return bytes_.Read(&index) ? Put(index) : EndsEarly();
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
      return bytes_.Read(&number) ? Push(builder_.Integer(number)) : EndsEarly();
    }
    case pickle::kBinInt2: {
      uint16_t number;
      return bytes_.Read(&number) ? Push(builder_.Integer(number)) : EndsEarly();
    }
    case pickle::kBinInt: {
      int32_t number;
      return bytes_.Read(&number) ? Push(builder_.Integer(number)) : EndsEarly();
    }
    case pickle::kLong1: {
      uint8_t size;
      std::string_view digits;
      return bytes_.Read(&size) && bytes_.ReadBytes(size, &digits) ? Push(builder_.Long(digits))
                                                                   : EndsEarly();
    }
    case pickle::kLong4: {
      int32_t size;
      std::string_view digits;
      if (!bytes_.Read(&size)) return EndsEarly();
      if (size < 0) return Damaged("a number has a negative length");
      return bytes_.ReadBytes(static_cast<uint64_t>(size), &digits) ? Push(builder_.Long(digits))
                                                                    : EndsEarly();
    }
    default: {
      uint64_t big_endian;
      if (!bytes_.Read(&big_endian)) return EndsEarly();
      return Push(builder_.Float(std::bit_cast<double>(__builtin_bswap64(big_endian))));
    }
  }
}

Unpickler::Step Unpickler::TextOrBytes(uint8_t opcode) {
  uint64_t size = 0;
  switch (opcode) {
    case pickle::kShortBinUnicode:
    case pickle::kShortBinString:
    case pickle::kShortBinBytes: {
      uint8_t short_size;
      if (!bytes_.Read(&short_size)) return EndsEarly();
      size = short_size;
      break;
    }
    case pickle::kBinString: {
      int32_t signed_size;
      if (!bytes_.Read(&signed_size)) return EndsEarly();
      if (signed_size < 0) return Damaged("a text has a negative length");
      size = static_cast<uint64_t>(signed_size);
      break;
    }
    case pickle::kBinUnicode:
    case pickle::kBinBytes: {
      uint32_t usual_size;
      if (!bytes_.Read(&usual_size)) return EndsEarly();
      size = usual_size;
      break;
    }
    default:
      if (!bytes_.Read(&size)) return EndsEarly();
  }
  std::string_view bytes;
  if (!bytes_.ReadBytes(size, &bytes)) return EndsEarly();
  switch (opcode) {
    case pickle::kShortBinBytes:
    case pickle::kBinBytes:
    case pickle::kBinBytes8:
    case pickle::kByteArray8:
      // No snapshot contains values of the type bytes. So only the fact that there was one is
      // stored.
      return Push(PickleValue::OfKind(PickleKind::kBytes));
    default:
      return Push(builder_.Text(bytes, /*stable=*/true));
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
      if (!stack_.Has(count)) return Damaged("a tuple lacks its items");
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
  if (!stack_.has_mark()) return Damaged("a list, tuple or dict ends without a beginning");
  const size_t first = stack_.PopMark();
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
      return stack_.SetMark() ? Step::kNext : OutOfMemory();
    case pickle::kPop:
      if (stack_.Has(1)) {
        stack_.Cut(stack_.size() - 1);
      } else if (stack_.has_mark()) {
        stack_.PopMark();
      } else {
        return Damaged("an item is read from an empty stack");
      }
      return Step::kNext;
    case pickle::kPopMark:
      if (!stack_.has_mark()) return Damaged("a mark is read that was not set");
      stack_.Cut(stack_.PopMark());
      return Step::kNext;
    case pickle::kDup:
      if (!stack_.Has(1)) return Damaged("an item is duplicated on an empty stack");
      return Push(stack_.top());
    case pickle::kProtocol:
      return Protocol();
    case pickle::kFrame: {
      // The opcode FRAME only helps a reader to read ahead, so it is skipped. The lengths of the
      // values in a frame are checked when the values are read.
      uint64_t size;
      return bytes_.Read(&size) ? Step::kNext : EndsEarly();
    }
    default:
      break;
  }
  if (stack_.has_mark() || stack_.size() != 1) {
    return Damaged("the pickle ends before all objects are complete");
  }
  return Step::kStopped;
}

Unpickler::Step Unpickler::Protocol() {
  uint8_t version;
  if (!bytes_.Read(&version)) return EndsEarly();
  if (version <= kNewestPickleProtocol) return Step::kNext;
  return Damaged(Concat("the pickle protocol ", version, " is newer than ", kNewestPickleProtocol,
                        ", the newest supported one"));
}

Unpickler::Step Unpickler::PushItems(PickleKind kind, size_t first) {
  const std::optional<PickleValue> made = builder_.Container(kind, stack_.From(first));
  if (!made) return OutOfMemory();
  stack_.Cut(first);
  return Push(made);
}

Unpickler::Step Unpickler::AddToTop(PickleKind kind, size_t count) {
  if (!stack_.Has(count + 1)) return Damaged("an item is added without a container");
  const size_t first = stack_.size() - count;
  const PickleValue target = stack_[first - 1];
  if (!target.is(kind)) {
    return Damaged(Concat("an item is added to ", PickleKindName(target.kind()), " as if it were ",
                          PickleKindName(kind)));
  }
  if (!builder_.Extend(target.items(), stack_.From(first))) return OutOfMemory();
  stack_.Cut(first);
  return Step::kNext;
}

Unpickler::Step Unpickler::AddFromMark(PickleKind kind) {
  if (!stack_.has_mark()) return Damaged("a list, set or dict ends without a beginning");
  const size_t count = stack_.size() - stack_.mark();
  if (kind == PickleKind::kDict && count % 2 != 0) {
    return Damaged("a dict has a key without a value");
  }
  stack_.PopMark();
  return AddToTop(kind, count);
}

Unpickler::Step Unpickler::Put(uint64_t index) {
  if (!stack_.Has(1)) return Damaged("there is no item to be memoized");
  return memo_.Put(index, stack_.top()) ? Step::kNext : OutOfMemory();
}

Unpickler::Step Unpickler::Get(uint64_t index) {
  if (const PickleValue* value = memo_.Get(index)) return Push(*value);
  return Damaged(Concat("number ", index, " was never memoized"));
}

}  // namespace vramstow
