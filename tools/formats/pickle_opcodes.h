// Defines the opcodes of Python's pickle format, protocols 0 to 5.
//
// Source: the table in Python's documentation of pickletools. Ownership, threads, errors: none.
#ifndef VRAMSTOW_TOOLS_FORMATS_PICKLE_OPCODES_H_
#define VRAMSTOW_TOOLS_FORMATS_PICKLE_OPCODES_H_

#include <cstdint>

namespace vramstow {

inline constexpr int kNewestPickleProtocol = 5;

namespace pickle {

enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kFloatText = 'F',
  kIntText = 'I',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLongText = 'L',
  kNone = 'N',
  kPersistentId = 'P',
  kBinPersistentId = 'Q',
  kReduce = 'R',
  kStringText = 'S',
  kBinString = 'T',
  kShortBinString = 'U',
  kUnicodeText = 'V',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kGetText = 'g',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kInstance = 'i',
  kList = 'l',
  kEmptyList = ']',
  kObject = 'o',
  kPutText = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinFloat = 'G',
  // Protocol 2
  kProtocol = 0x80,
  kNewObject = 0x81,
  kExtension1 = 0x82,
  kExtension2 = 0x83,
  kExtension4 = 0x84,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  // Protocol 3
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  // Protocol 4
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjectEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  // Protocol 5
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
  kReadonlyBuffer = 0x98,
};

}  // namespace pickle
}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PICKLE_OPCODES_H_
