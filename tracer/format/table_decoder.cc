#include "tracer/format/table_decoder.h"

#include "tracer/format/layout.h"
#include "tracer/format/varint.h"

namespace vramstow {
namespace {

constexpr uint64_t kMaxNumber = 0xFFFF;

std::string Text(const uint8_t* begin, const uint8_t* end) {
  return std::string(reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin));
}

// A text of the length that comes before it. Returns the byte after it or null.
const uint8_t* ReadText(const uint8_t* in, const uint8_t* end, std::string* text) {
  uint64_t length;
  in = ReadVarint(in, end, &length);
  if (in == nullptr || length > static_cast<uint64_t>(end - in)) return nullptr;
  *text = Text(in, in + length);
  return in + length;
}

bool DecodeFact(const uint8_t* in, const uint8_t* end, TraceTables* tables) {
  std::string key;
  in = ReadText(in, end, &key);
  if (in == nullptr) return false;
  tables->facts[key] = Text(in, end);
  return true;
}

bool DecodeCall(const uint8_t* in, const uint8_t* end, TraceTables* tables) {
  uint64_t number;
  in = ReadVarint(in, end, &number);
  if (in == nullptr || number == 0 || number > kMaxNumber) return false;
  if (tables->calls.size() <= number) tables->calls.resize(number + 1, tables->calls[0]);
  tables->calls[number] = Text(in, end);
  return true;
}

bool DecodeLibrary(const uint8_t* in, const uint8_t* end, TraceTables* tables) {
  uint64_t number;
  in = ReadVarint(in, end, &number);
  if (in == nullptr || number == 0 || number > kMaxNumber) return false;
  TraceLibrary library;
  in = ReadVarint(in, end, &library.base);
  if (in != nullptr) in = ReadText(in, end, &library.build_id);
  if (in == nullptr) return false;
  library.path = Text(in, end);
  if (tables->libraries.size() <= number) {
    tables->libraries.resize(number + 1, tables->libraries[0]);
  }
  tables->libraries[number] = library;
  return true;
}

}  // namespace

bool TraceTables::Decode(const uint8_t* bytes, size_t size, size_t* consumed) {
  const uint8_t* next = bytes;
  const uint8_t* const end = bytes + size;
  bool is_right = true;
  while (next < end && is_right) {
    const RecordType type = static_cast<RecordType>(*next);
    uint64_t length;
    const uint8_t* in = ReadVarint(next + 1, end, &length);
    if (type == RecordType::kNone || in == nullptr || length > static_cast<uint64_t>(end - in)) {
      is_right = false;
      break;
    }
    const uint8_t* const record_end = in + length;
    if (type == RecordType::kFact) is_right = DecodeFact(in, record_end, this);
    if (type == RecordType::kCall) is_right = DecodeCall(in, record_end, this);
    if (type == RecordType::kLibrary) is_right = DecodeLibrary(in, record_end, this);
    if (is_right) next = record_end;
  }
  *consumed = static_cast<size_t>(next - bytes);
  return is_right;
}

}  // namespace vramstow
