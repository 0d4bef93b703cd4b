#include "tracer/capture/unwind_rule.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "tracer/capture/find_object.h"
#include "tracer/capture/symbol_search.h"

// A function of libgcc that finds the entry of .eh_frame for an address. Every libgcc since version
// 3.0 of GCC has it, including the static libgcc that is linked here.
extern "C" {
struct dwarf_eh_bases {  // NOLINT(readability-identifier-naming): so it is called there
  void* tbase;
  void* dbase;
  void* func;
};
const void* _Unwind_Find_FDE(void* address, dwarf_eh_bases* bases);
}

namespace vramstow {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kStackRegister = 7;    // RSP
constexpr uint64_t kFrameNumber = 6;      // RBP
constexpr uint64_t kReturnRegister = 16;  // the return address
constexpr uint8_t kBaseFrameOperation = 0x76;
#elif defined(__aarch64__)
constexpr uint64_t kStackRegister = 31;
constexpr uint64_t kFrameNumber = 29;
constexpr uint64_t kReturnRegister = 30;
constexpr uint8_t kBaseFrameOperation = 0x70 + 29;
#else
#error "registers of this processor are not known"
#endif
constexpr uint8_t kDereference = 0x06;

// Reads the compiler's unwinding data, which lies in a mapped file that the dynamic linker has
// checked.
class Bytes {
 public:
  explicit Bytes(const void* at) : at_(static_cast<const uint8_t*>(at)) {}
  const uint8_t* at() const { return at_; }
  void Skip(uint64_t count) { at_ += count; }

  template <typename T>
  T Fixed() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t FixedOf(size_t bytes) {
    return bytes == 8 ? Fixed<uint64_t>() : bytes == 4 ? Fixed<uint32_t>() : Fixed<uint16_t>();
  }
  uint64_t Unsigned() {  // LEB128
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = *at_++;
      if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  int64_t Signed() {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const uint8_t byte = *at_++;
      if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
  }
  // Returns the bytes of a pointer in this encoding; 0 if the encoding is unknown.
  static size_t PointerBytes(uint8_t encoding) {
    switch (encoding & 0x0F) {
      case 0x00:
      case 0x04:
      case 0x0C:
        return 8;
      case 0x02:
      case 0x0A:
        return 2;
      case 0x03:
      case 0x0B:
        return 4;
      default:
        return 0;
    }
  }

 private:
  const uint8_t* at_;
};

// The location where one register was saved.
struct Saved {
  enum How : uint8_t { kSame, kAtCfa, kAtFrame, kUndefined, kOther };
  How how = kSame;
  int64_t offset = 0;
};

struct Row {
  uint64_t cfa_register = kStackRegister;
  int64_t cfa_offset = 0;
  bool cfa_is_stored = false;  // the CFA is stored at frame register + cfa_offset
  bool is_known = true;
  Saved frame;
  Saved ret;
};

// The common information entry (CIE) of a function's description.
struct Common {
  uint64_t code_unit = 1;
  int64_t data_unit = 1;
  uint8_t pointer_encoding = 0;
  bool has_length = false;  // the length of the augmentation is given
  bool is_signal = false;
  bool is_known = false;
  const uint8_t* program = nullptr;
  const uint8_t* end = nullptr;
};

Common ReadCommon(const uint8_t* entry) {
  Common common;
  Bytes in(entry);
  const uint32_t length = in.Fixed<uint32_t>();
  if (length == 0xFFFFFFFF) return common;
  common.end = in.at() + length;
  in.Skip(4);
  const uint8_t version = in.Fixed<uint8_t>();
  const char* augmentation = reinterpret_cast<const char*>(in.at());
  in.Skip(std::strlen(augmentation) + 1);
  common.code_unit = in.Unsigned();
  common.data_unit = in.Signed();
  const uint64_t return_register = version == 1 ? in.Fixed<uint8_t>() : in.Unsigned();
  if (return_register != kReturnRegister) return common;
  common.is_known = true;
  for (const char* letter = augmentation; *letter != '\0'; ++letter) {
    switch (*letter) {
      case 'z': {
        common.has_length = true;
        const uint64_t bytes = in.Unsigned();
        common.program = in.at() + bytes;
        break;
      }
      case 'R':
        common.pointer_encoding = in.Fixed<uint8_t>();
        break;
      case 'P': {
        const size_t bytes = Bytes::PointerBytes(in.Fixed<uint8_t>());
        if (bytes == 0) common.is_known = false;
        in.Skip(bytes);
        break;
      }
      case 'L':
        in.Skip(1);
        break;
      case 'S':
        common.is_signal = true;
        break;
      case 'B':  // return addresses are signed
        break;
      default:
        common.is_known = false;
        break;
    }
  }
  if (!common.has_length) common.program = in.at();
  return common;
}

// Executes the instructions that describe a function, up to one address in it.
class RowMachine {
 public:
  RowMachine(const Common& common, uintptr_t begin, uintptr_t target)
      : common_(common), location_(begin), target_(target) {}

  void Run(const uint8_t* begin, const uint8_t* end) {
    Bytes in(begin);
    while (in.at() < end && location_ <= target_ && row_.is_known) Step(&in);
  }
  void KeepInitial() { initial_ = row_; }
  const Row& row() const { return row_; }

 private:
  static constexpr int kMaxRemembered = 8;

  void Advance(uint64_t units) {
    const uintptr_t next = location_ + units * common_.code_unit;
    location_ = next;
  }
  Saved* Of(uint64_t number) {
    return number == kFrameNumber ? &row_.frame : number == kReturnRegister ? &row_.ret : &ignored_;
  }
  void Save(uint64_t number, int64_t units) {
    *Of(number) = {Saved::kAtCfa, units * common_.data_unit};
  }
  void Restore(uint64_t number) {
    if (number == kFrameNumber) row_.frame = initial_.frame;
    if (number == kReturnRegister) row_.ret = initial_.ret;
  }
  void SetCfa(uint64_t number, int64_t offset) {
    row_.cfa_register = number;
    row_.cfa_offset = offset;
    row_.cfa_is_stored = false;
  }

  void Step(Bytes* in) {
    const uint8_t operation = in->Fixed<uint8_t>();
    const uint64_t low = operation & 0x3F;
    switch (operation >> 6) {
      case 1:
        return Advance(low);
      case 2:
        return Save(low, static_cast<int64_t>(in->Unsigned()));
      case 3:
        return Restore(low);
      default:
        return StepLong(operation, in);
    }
  }

  void StepLong(uint8_t operation, Bytes* in);
  void StepCfa(uint8_t operation, Bytes* in);
  void StepExpression(uint8_t operation, Bytes* in);

  const Common& common_;
  uintptr_t location_;
  uintptr_t target_;
  Row row_;
  Row initial_;
  Row remembered_[kMaxRemembered];
  int remembered_count_ = 0;
  Saved ignored_;
};

void RowMachine::StepLong(uint8_t operation, Bytes* in) {
  switch (operation) {
    case 0x00:  // nothing
    case 0x2D:  // the return address is signed from here on, or no longer
      return;
    case 0x02:
      return Advance(in->Fixed<uint8_t>());
    case 0x03:
      return Advance(in->Fixed<uint16_t>());
    case 0x04:
      return Advance(in->Fixed<uint32_t>());
    case 0x05: {  // offset_extended
      const uint64_t number = in->Unsigned();
      return Save(number, static_cast<int64_t>(in->Unsigned()));
    }
    case 0x11: {  // signed form
      const uint64_t number = in->Unsigned();
      return Save(number, in->Signed());
    }
    case 0x2F: {  // negative form
      const uint64_t number = in->Unsigned();
      return Save(number, -static_cast<int64_t>(in->Unsigned()));
    }
    case 0x06:
      return Restore(in->Unsigned());
    case 0x07:
      Of(in->Unsigned())->how = Saved::kUndefined;
      return;
    case 0x08:
      Of(in->Unsigned())->how = Saved::kSame;
      return;
    case 0x09: {  // the value is in another register
      const uint64_t number = in->Unsigned();
      in->Unsigned();
      Of(number)->how = Saved::kOther;
      return;
    }
    case 0x0A:
      if (remembered_count_ == kMaxRemembered) {
        row_.is_known = false;
      } else {
        remembered_[remembered_count_++] = row_;
      }
      return;
    case 0x0B:
      if (remembered_count_ > 0) row_ = remembered_[--remembered_count_];
      return;
    case 0x2E:  // bytes of arguments
      in->Unsigned();
      return;
    default:
      return StepCfa(operation, in);
  }
}

void RowMachine::StepCfa(uint8_t operation, Bytes* in) {
  switch (operation) {
    case 0x0C: {  // def_cfa
      const uint64_t number = in->Unsigned();
      return SetCfa(number, static_cast<int64_t>(in->Unsigned()));
    }
    case 0x12: {  // signed form
      const uint64_t number = in->Unsigned();
      return SetCfa(number, in->Signed() * common_.data_unit);
    }
    case 0x0D:
      return SetCfa(in->Unsigned(), row_.cfa_offset);
    case 0x0E:
      row_.cfa_offset = static_cast<int64_t>(in->Unsigned());
      return;
    case 0x13:
      row_.cfa_offset = in->Signed() * common_.data_unit;
      return;
    default:
      return StepExpression(operation, in);
  }
}

void RowMachine::StepExpression(uint8_t operation, Bytes* in) {
  if (operation == 0x0F) {  // the CFA
    const uint64_t length = in->Unsigned();
    Bytes expression(in->at());
    in->Skip(length);
    row_.cfa_is_stored = expression.Fixed<uint8_t>() == kBaseFrameOperation;
    if (row_.cfa_is_stored) {
      row_.cfa_offset = expression.Signed();
      row_.cfa_is_stored = expression.at() + 1 == in->at() && *expression.at() == kDereference;
    }
    row_.is_known = row_.cfa_is_stored;
    return;
  }
  if (operation == 0x10) {  // the address of a register
    Saved* const saved = Of(in->Unsigned());
    const uint64_t length = in->Unsigned();
    Bytes expression(in->at());
    in->Skip(length);
    saved->how = Saved::kOther;
    if (expression.Fixed<uint8_t>() != kBaseFrameOperation) return;
    const int64_t offset = expression.Signed();
    if (expression.at() == in->at()) *saved = {Saved::kAtFrame, offset};
    return;
  }
  if (operation == 0x14 || operation == 0x15 || operation == 0x16) {  // the value of a register
    Of(in->Unsigned())->how = Saved::kOther;
    const uint64_t operand = in->Unsigned();
    if (operation == 0x16) in->Skip(operand);
    return;
  }
  row_.is_known = false;  // 0x01 (set_loc) is not written by compilers for these processors
}

UnwindRule OtherRule() {
  UnwindRule rule;
  rule.kind = UnwindRule::kOther;
  return rule;
}

UnwindRule RuleOf(const Row& row) {
  UnwindRule rule;
  if (row.is_known && row.ret.how == Saved::kUndefined) {
    rule.kind = UnwindRule::kOutermost;
    return rule;
  }
  if (!row.is_known || row.ret.how == Saved::kOther || row.frame.how == Saved::kOther)
    return OtherRule();
  if (row.cfa_is_stored) {
    rule.kind = UnwindRule::kRealigned;
    if (row.frame.how != Saved::kAtFrame || row.frame.offset != 0) return OtherRule();
  } else if (row.cfa_register == kStackRegister) {
    rule.kind = UnwindRule::kFromStack;
  } else if (row.cfa_register == kFrameNumber) {
    rule.kind = UnwindRule::kFromFrame;
  } else {
    return OtherRule();
  }
  if (!row.cfa_is_stored && row.frame.how == Saved::kAtFrame) return OtherRule();
  rule.cfa_offset = static_cast<int32_t>(row.cfa_offset);
  if (row.frame.how == Saved::kAtCfa) rule.frame_offset = static_cast<int32_t>(row.frame.offset);
  if (row.ret.how == Saved::kAtCfa) rule.return_offset = static_cast<int32_t>(row.ret.offset);
  return rule;
}

using FindEntry = const void* (*)(void* address, dwarf_eh_bases* bases);
// The look-up function of the program's own libgcc. It is null if there is no such library, or
// before FindRegisteredCode has searched for it.
constinit std::atomic<FindEntry> g_find_registered{nullptr};

// Finds the last entry before the address in the sorted table of .eh_frame_hdr (of the LSB), which
// linkers make for .eh_frame. Takes no lock.
const void* FindEntryByTable(uintptr_t address, dwarf_eh_bases* bases) {
  FoundObject object;
  if (!FindObject(reinterpret_cast<const void*>(address), &object)) return nullptr;
  if (object.unwind_table == nullptr) return nullptr;
  const uintptr_t header = reinterpret_cast<uintptr_t>(object.unwind_table);
  Bytes in(object.unwind_table);
  constexpr uint32_t kUsual = 0x3B03'0001;  // version 1, a count of 4 bytes, offsets of 4 bytes
  const uint32_t kinds = in.Fixed<uint32_t>();
  const size_t pointer_bytes = Bytes::PointerBytes(static_cast<uint8_t>(kinds >> 8));
  if ((kinds & 0xFFFF'00FF) != kUsual || pointer_bytes == 0) return nullptr;
  in.Skip(pointer_bytes);
  const uint32_t count = in.Fixed<uint32_t>();
  struct Entry {
    int32_t begin;  // the function's address, relative to the header
    int32_t place;
  };
  const Entry* const rows = reinterpret_cast<const Entry*>(in.at());
  const int64_t wanted = static_cast<int64_t>(address - header);
  const Entry* const after =
      std::upper_bound(rows, rows + count, wanted,
                       [](int64_t place, const Entry& entry) { return place < entry.begin; });
  if (after == rows) return nullptr;
  const Entry& entry = after[-1];
  bases->func = reinterpret_cast<void*>(header + static_cast<uintptr_t>(intptr_t{entry.begin}));
  return reinterpret_cast<const void*>(header + static_cast<uintptr_t>(intptr_t{entry.place}));
}

const void* FindEntryFor(uintptr_t address, CaptureMode mode, dwarf_eh_bases* bases) {
  if (mode == CaptureMode::kQuiet) return FindEntryByTable(address, bases);
  void* const place = reinterpret_cast<void*>(address);
  const void* const entry = _Unwind_Find_FDE(place, bases);
  if (entry != nullptr) return entry;
  const FindEntry find = g_find_registered.load(std::memory_order_acquire);
  return find == nullptr ? nullptr : find(place, bases);
}

// Layout of the word: 4 bits for the kind, 24 bits for cfa_offset / 8, 18 bits for frame_offset /
// 8, and 18 bits for return_offset / 8. On arm64 both registers are saved at the lower end of the
// frame, however large it is.
bool Fits(int64_t value, unsigned bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}
uint64_t Field(int64_t value, unsigned bits) {
  return static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
}
int32_t SignedField(uint64_t word, unsigned shift, unsigned bits) {
  return static_cast<int32_t>(static_cast<int64_t>(word << (64 - shift - bits)) >> (64 - bits));
}

}  // namespace

uint64_t UnwindRule::Pack() const {
  if (kind == kEnd) return 0;
  if (cfa_offset % 8 != 0 || frame_offset % 8 != 0 || return_offset % 8 != 0) return kOther;
  if (!Fits(cfa_offset / 8, 24) || !Fits(frame_offset / 8, 18) || !Fits(return_offset / 8, 18)) {
    return kOther;
  }
  return uint64_t{kind} | Field(cfa_offset / 8, 24) << 4 | Field(frame_offset / 8, 18) << 28 |
         Field(return_offset / 8, 18) << 46;
}

UnwindRule UnwindRule::Unpack(uint64_t word) {
  UnwindRule rule;
  rule.kind = static_cast<Kind>(word & 15);
  rule.cfa_offset = SignedField(word, 4, 24) * 8;
  rule.frame_offset = SignedField(word, 28, 18) * 8;
  rule.return_offset = SignedField(word, 46, 18) * 8;
  return rule;
}

UnwindRule FindUnwindRule(uintptr_t address, CaptureMode mode) {
  dwarf_eh_bases bases = {};
  const void* const entry = FindEntryFor(address, mode, &bases);
  if (entry == nullptr) return UnwindRule();
  Bytes in(entry);
  const uint32_t length = in.Fixed<uint32_t>();
  if (length == 0xFFFFFFFF) return UnwindRule();
  const uint8_t* const end = in.at() + length;
  const uint8_t* const here = in.at();
  const Common common = ReadCommon(here - in.Fixed<int32_t>());
  if (!common.is_known) return OtherRule();
  if (common.is_signal) {
    UnwindRule rule;
    rule.kind = UnwindRule::kSignal;
    return rule;
  }
  const size_t pointer_bytes = Bytes::PointerBytes(common.pointer_encoding);
  if (pointer_bytes == 0) return OtherRule();
  in.Skip(pointer_bytes);
  const uint64_t bytes = in.FixedOf(pointer_bytes);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(bases.func);
  // The entry found is the last one before the address, but its function may end before the
  // address.
  if (address - begin >= bytes) return UnwindRule();
  if (common.has_length) in.Skip(in.Unsigned());
  RowMachine machine(common, begin, address);
  machine.Run(common.program, common.end);
  machine.KeepInitial();
  machine.Run(in.at(), end);
  return RuleOf(machine.row());
}

void FindRegisteredCode() {
  const char* const names[] = {"_Unwind_Find_FDE"};
  void* found[] = {nullptr};
  if (!FindSymbols(names, found, 1)) return;
  const FindEntry find = reinterpret_cast<FindEntry>(found[0]);
  if (find != &_Unwind_Find_FDE) g_find_registered.store(find, std::memory_order_release);
}

}  // namespace vramstow
