// Reads the interpreter's frames and code objects.
#include "tracer/capture/python_runtime.h"

#include <cstring>

namespace vramstow {
namespace {

constexpr uint32_t kTypeOffset = 8;       // the offset of an object's type
constexpr uint32_t kSizeOffset = 16;      // the offset of the length of a text or a bytes object
constexpr uint32_t kTextHashOffset = 24;  // the offset of a text's hash (-1 until it is computed)
constexpr uint32_t kTextStateOffset = 32;
constexpr uint32_t kBytesOffset = 32;   // the offset of the first byte of a bytes object
constexpr uint8_t kFirstShimOwner = 3;  // from this value on a frame belongs to no function

template <typename T>
T At(uintptr_t object, uint32_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(object + offset), sizeof value);
  return value;
}

// Appends a character as UTF-8. Returns false if there is no room.
bool AppendUtf8(uint32_t letter, char** out, const char* end) {
  char bytes[4];
  size_t count = 0;
  if (letter < 0x80) {
    bytes[count++] = static_cast<char>(letter);
  } else if (letter < 0x800) {
    bytes[count++] = static_cast<char>(0xC0 | letter >> 6);
  } else if (letter < 0x10000) {
    bytes[count++] = static_cast<char>(0xE0 | letter >> 12);
    bytes[count++] = static_cast<char>(0x80 | (letter >> 6 & 0x3F));
  } else {
    bytes[count++] = static_cast<char>(0xF0 | letter >> 18);
    bytes[count++] = static_cast<char>(0x80 | (letter >> 12 & 0x3F));
    bytes[count++] = static_cast<char>(0x80 | (letter >> 6 & 0x3F));
  }
  if (letter >= 0x80) bytes[count++] = static_cast<char>(0x80 | (letter & 0x3F));
  if (static_cast<size_t>(end - *out) < count) return false;
  std::memcpy(*out, bytes, count);
  *out += count;
  return true;
}

// Copies a str object of Python's as UTF-8 (PEP 393: compact, characters of one, two or four
// bytes).
void CopyText(uintptr_t text, uint32_t header_bytes, char* to, size_t size) {
  char* out = to;
  const char* const end = to + size - 1;
  const uint32_t state = At<uint32_t>(text, kTextStateOffset);
  const uint32_t kind = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  // In a str object that is not ASCII, the length and address of its UTF-8 form follow the header.
  // In CPython before 3.12 another length follows, too.
  const uint32_t data = header_bytes + (is_ascii ? 0 : header_bytes == 48 ? 24 : 16);
  const uint64_t count = is_compact ? At<uint64_t>(text, kSizeOffset) : 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uintptr_t place = text + i * kind;
    const uint32_t letter = kind == 1   ? At<uint8_t>(place, data)
                            : kind == 2 ? At<uint16_t>(place, data)
                                        : At<uint32_t>(place, data);
    if (!AppendUtf8(letter, &out, end)) break;
  }
  *out = '\0';
}

// Reads the line table of a code object: CPython, Objects/locations.md.
class LineTable {
 public:
  LineTable(const uint8_t* begin, uint64_t size, uint32_t first_line)
      : next_(begin), end_(begin + size), line_(first_line) {}

  uint32_t Find(uint32_t instruction) {
    uint32_t done = 0;
    while (next_ < end_) {
      const uint8_t head = *next_++;
      done += ((head & 7u) + 1) * 2;
      const unsigned form = head >> 3 & 15;
      bool has_line = true;
      if (form == 15) {
        has_line = false;
      } else if (form == 13 || form == 14) {
        const uint32_t step = Number();
        line_ += static_cast<uint32_t>((step & 1) != 0 ? -static_cast<int32_t>(step >> 1)
                                                       : static_cast<int32_t>(step >> 1));
      } else if (form >= 10) {
        line_ += form - 10;
      }
      if (instruction < done) return has_line ? line_ : 0;
      // The column numbers of this entry follow. The next entry begins at a byte whose top bit is
      // set.
      while (next_ < end_ && *next_ < 0x80) ++next_;
    }
    return 0;
  }

 private:
  uint32_t Number() {
    uint32_t value = 0;
    for (unsigned shift = 0; next_ < end_; shift += 6) {
      const uint8_t byte = *next_++;
      if (shift < 32) value |= (byte & 0x3Fu) << shift;
      if ((byte & 0x40) == 0) break;
    }
    return value;
  }

  const uint8_t* next_;
  const uint8_t* end_;
  uint32_t line_;
};

// Reads a line table of versions before 3.11: pairs of a length and a difference of lines (PEP
// 626).
uint32_t LineIn310(const uint8_t* table, uint64_t size, uint32_t first_line, uint32_t instruction) {
  constexpr int8_t kNoLine = -128;
  uint32_t line = first_line;
  uint32_t end = 0;
  for (uint64_t i = 0; i + 1 < size; i += 2) {
    const int8_t step = static_cast<int8_t>(table[i + 1]);
    if (step != kNoLine) line += static_cast<uint32_t>(int32_t{step});
    end += table[i];
    if (instruction < end) return step == kNoLine ? 0 : line;
  }
  return 0;
}

}  // namespace

// Hashes the addresses and names of a code object's parts. Another code object may reuse each of
// these addresses. But if all addresses and names are equal, the code is practically certain to be
// the same. Two products are computed in parallel, because this runs for each frame of each stack.
inline uint64_t PythonRuntime::Fingerprint(const PythonLayout& layout, uintptr_t code) {
  const uintptr_t name = At<uintptr_t>(code, layout.code_qualified_name);
  const uintptr_t file = At<uintptr_t>(code, layout.code_file);
  const uintptr_t lines = At<uintptr_t>(code, layout.code_lines);
  const uint64_t first_line = At<uint32_t>(code, layout.code_first_line);
  const uint64_t places = code ^ name << 20 ^ file << 40;
  const uint64_t texts =
      At<uint64_t>(name, kTextHashOffset) + (At<uint64_t>(file, kTextHashOffset) << 1);
  const uint64_t table = At<uint64_t>(lines, kBytesOffset) + At<uint64_t>(lines, kSizeOffset);
  return places * 0x9E3779B97F4A7C15u ^
         (texts + (table ^ first_line << 32 ^ lines)) * 0xD6E8FEB86659FD93u;
}

// Reads the frames of Python 3.10. That version has a list of frame objects, and each call of the
// interpreter's loop has a record on the stack.
size_t PythonRuntime::CollectObjects(uintptr_t thread, StackFrame* frames, size_t max_frames,
                                     PythonSegment* segments, size_t max_segments) const {
  uintptr_t frame = At<uintptr_t>(thread, layout_.thread_frame);
  uintptr_t cframe = At<uintptr_t>(thread, layout_.thread_cframe);
  size_t count = 0;
  while (frame != 0 && cframe != 0 && count < max_frames && count < max_segments) {
    const uintptr_t code = At<uintptr_t>(frame, layout_.frame_code);
    const int32_t last = At<int32_t>(frame, layout_.frame_instruction);
    frames[count] = {code, Fingerprint(layout_, code), static_cast<uint32_t>(last * 2),
                     StackFrame::kPython};
    segments[count] = {cframe, static_cast<uint32_t>(count + 1)};
    ++count;
    frame = At<uintptr_t>(frame, layout_.frame_previous);
    cframe = At<uintptr_t>(cframe, layout_.cframe_previous);
  }
  return count;
}

size_t PythonRuntime::Collect(StackFrame* frames, size_t max_frames, PythonSegment* segments,
                              size_t max_segments) const {
  const uintptr_t thread = reinterpret_cast<uintptr_t>(this_thread_());
  if (thread == 0) return 0;
  if (layout_.has_frame_objects) {
    return CollectObjects(thread, frames, max_frames, segments, max_segments);
  }
  const PythonLayout layout = layout_;  // a copy, which the compiler knows to be constant
  uintptr_t cframe = At<uintptr_t>(thread, layout.thread_frame);
  uintptr_t frame = InnermostFrame(thread);
  const bool has_entries = layout.frame_is_entry != 0;
  size_t count = 0;
  size_t segment_count = 0;
  while (frame != 0 && count < max_frames && segment_count < max_segments) {
    const bool is_shim = At<uint8_t>(frame, layout.frame_owner) >= kFirstShimOwner;
    const uintptr_t code = At<uintptr_t>(frame, layout.frame_code) & ~uintptr_t{layout.code_tag};
    if (!is_shim && At<const void*>(code, kTypeOffset) == code_type_) {
      const uint32_t instruction = static_cast<uint32_t>(
          At<uintptr_t>(frame, layout.frame_instruction) - code - layout.code_instructions);
      frames[count++] = {code, Fingerprint(layout, code), instruction, StackFrame::kPython};
    }
    const bool is_end = has_entries ? At<uint8_t>(frame, layout.frame_is_entry) != 0 : is_shim;
    if (is_end) {
      segments[segment_count++] = {has_entries ? cframe : frame, static_cast<uint32_t>(count)};
      if (has_entries) cframe = At<uintptr_t>(cframe, layout.cframe_previous);
    }
    frame = At<uintptr_t>(frame, layout.frame_previous);
  }
  const size_t in_segments = segment_count == 0 ? 0 : segments[segment_count - 1].end;
  if (count > in_segments && segment_count < max_segments) {
    segments[segment_count++] = {~uintptr_t{0}, static_cast<uint32_t>(count)};
  }
  return segment_count;
}

// CPython 3.11 has no frames between functions, so each of its frames belongs to a function.
uint64_t PythonRuntime::HashFrames() const {
  const uintptr_t thread = reinterpret_cast<uintptr_t>(this_thread_());
  if (thread == 0) return 0;
  const PythonLayout layout = layout_;  // a copy, which the compiler knows to be constant
  const bool has_shims = layout.frame_is_entry == 0;
  uint64_t sum = 1;
  uintptr_t frame = InnermostFrame(thread);
  for (size_t count = 0; frame != 0 && count < kMaxStackFrames; ++count) {
    bool is_function = !has_shims || At<uint8_t>(frame, layout.frame_owner) < kFirstShimOwner;
    const uintptr_t code = At<uintptr_t>(frame, layout.frame_code) & ~uintptr_t{layout.code_tag};
    is_function = is_function && (!has_shims || At<const void*>(code, kTypeOffset) == code_type_);
    if (is_function) {
      const uint64_t place = At<uintptr_t>(frame, layout.frame_instruction);
      sum = MixInto(sum, Fingerprint(layout, code) + place);
    }
    frame = At<uintptr_t>(frame, layout.frame_previous);
  }
  return sum;
}

void PythonRuntime::Describe(uintptr_t code, PythonCode* to) const {
  to->first_line = At<uint32_t>(code, layout_.code_first_line);
  CopyText(At<uintptr_t>(code, layout_.code_qualified_name), layout_.text_bytes, to->name,
           sizeof to->name);
  CopyText(At<uintptr_t>(code, layout_.code_file), layout_.text_bytes, to->file, sizeof to->file);
}

uint32_t PythonRuntime::LineOf(uintptr_t code, uint32_t instruction) const {
  const uint32_t first_line = At<uint32_t>(code, layout_.code_first_line);
  const uintptr_t lines = At<uintptr_t>(code, layout_.code_lines);
  // The frame is being set up and has executed no instruction yet.
  if (static_cast<int32_t>(instruction) < 0) return first_line;
  const auto* table = reinterpret_cast<const uint8_t*>(lines + kBytesOffset);
  if (layout_.has_frame_objects) {
    return LineIn310(table, At<uint64_t>(lines, kSizeOffset), first_line, instruction);
  }
  return LineTable(table, At<uint64_t>(lines, kSizeOffset), first_line).Find(instruction);
}

}  // namespace vramstow
