#include "tracer/format/table_decoder.h"

#include "tracer/format/layout.h"
#include "tracer/format/varint.h"

namespace vramstow {
namespace {

constexpr uint64_t kMaxNumber = 0xFFFF;
constexpr uint64_t kMaxStacks = 0xFFFFF;
constexpr size_t kMaxFunctions = 64;  // the most functions at one address
// No trace that is recorded reaches these limits. Records beyond them are ignored.
constexpr size_t kMaxFacts = 4096;
constexpr size_t kMaxAnnotations = 0xFFFFF;
constexpr size_t kMaxFunctionsInAll = 0x3FFFFF;
// The recorder captures at most 4,096 frames of a stack, and says if it left out others.
constexpr size_t kMaxFrames = 4096 + 1;

std::string Text(const uint8_t* begin, const uint8_t* end) {
  return std::string(reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin));
}

// Reads a text, which is preceded by its length. Returns the address after it, or null if it is
// invalid.
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
  if (tables->facts.size() >= kMaxFacts && !tables->facts.contains(key)) return true;
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

bool DecodeCode(const uint8_t* in, const uint8_t* end, TraceTables* tables) {
  uint64_t number;
  uint64_t first_line;
  TraceTables::Code code;
  in = ReadVarint(in, end, &number);
  if (in == nullptr || number == 0 || number > kMaxNumber) return false;
  in = ReadVarint(in, end, &first_line);
  if (in != nullptr) in = ReadText(in, end, &code.name);
  if (in == nullptr) return false;
  code.first_line = static_cast<uint32_t>(first_line);
  code.file = Text(in, end);
  if (tables->codes.size() <= number) tables->codes.resize(number + 1, tables->codes[0]);
  tables->codes[number] = code;
  return true;
}

bool DecodeAnnotation(const uint8_t* in, const uint8_t* end, TraceTables* tables) {
  uint64_t number;
  in = ReadVarint(in, end, &number);
  if (in == nullptr || number == 0) return false;
  auto& annotations = tables->annotations;
  if (annotations.size() >= kMaxAnnotations && !annotations.contains(number)) return true;
  annotations[number] = Text(in, end);
  return true;
}

bool DecodeFunction(const uint8_t* in, const uint8_t* end, TraceTables* tables) {
  uint64_t library;
  uint64_t offset;
  in = ReadVarint(in, end, &library);
  if (in == nullptr || library > kMaxNumber) return false;
  in = ReadVarint(in, end, &offset);
  std::vector<TraceFunction> functions;
  while (in != nullptr && in < end && functions.size() < kMaxFunctions) {
    TraceFunction function;
    uint64_t line = 0;
    function.is_inlined = *in++ != 0;
    in = ReadVarint(in, end, &line);
    if (in != nullptr) in = ReadText(in, end, &function.name);
    if (in != nullptr) in = ReadText(in, end, &function.file);
    function.line = static_cast<uint32_t>(line);
    functions.push_back(std::move(function));
  }
  if (in == nullptr) return false;
  if (tables->functions.size() >= kMaxStacks) return true;
  if (functions.size() > kMaxFunctionsInAll - tables->functions_in_all) return true;
  auto& place = tables->functions[{static_cast<uint32_t>(library), offset}];
  tables->functions_in_all += functions.size() - place.size();
  place = std::move(functions);
  return true;
}

bool DecodeStack(const uint8_t* in, const uint8_t* end, TraceTables* tables) {
  uint64_t number;
  uint64_t parent;
  uint64_t source;
  TraceTables::StackNode node;
  in = ReadVarint(in, end, &number);
  if (in == nullptr || number == 0 || number > kMaxStacks) return false;
  in = ReadVarint(in, end, &parent);
  // A caller is written before its callees, so a valid stack refers only to smaller numbers, and
  // there are no cycles.
  if (in == nullptr || parent >= number || in == end) return false;
  node.parent = static_cast<uint32_t>(parent);
  node.kind = *in++;
  in = ReadVarint(in, end, &source);
  if (in != nullptr) in = ReadVarint(in, end, &node.place);
  if (in == nullptr || source > kMaxNumber) return false;
  node.source = static_cast<uint32_t>(source);
  if (tables->stacks.size() <= number) tables->stacks.resize(number + 1);
  tables->stacks[number] = node;
  return true;
}

}  // namespace

std::vector<TraceFrame> TraceTables::Stack(uint32_t stack) const {
  std::vector<TraceFrame> frames;
  while (stack != 0 && stack < stacks.size() && frames.size() < kMaxFrames) {
    const StackNode& node = stacks[stack];
    TraceFrame frame;
    if (node.kind <= static_cast<uint8_t>(FrameKind::kCut)) {
      frame.kind = static_cast<TraceFrame::Kind>(node.kind);
    }
    if (frame.kind == TraceFrame::Kind::kNative) {
      frame.library = static_cast<uint16_t>(node.source);
      frame.offset = node.place;
    } else if (frame.kind == TraceFrame::Kind::kPython) {
      const Code& code = codes[node.source < codes.size() ? node.source : 0];
      frame.function = code.name;
      frame.file = code.file;
      frame.first_line = code.first_line;
      frame.line = static_cast<uint32_t>(node.place);
    }
    frames.push_back(frame);
    stack = node.parent;
  }
  return frames;
}

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
    if (type == RecordType::kCode) is_right = DecodeCode(in, record_end, this);
    if (type == RecordType::kStack) is_right = DecodeStack(in, record_end, this);
    if (type == RecordType::kFunction) is_right = DecodeFunction(in, record_end, this);
    if (type == RecordType::kAnnotation) is_right = DecodeAnnotation(in, record_end, this);
    if (is_right) next = record_end;
  }
  *consumed = static_cast<size_t>(next - bytes);
  return is_right;
}

}  // namespace vramstow
