// ByteCursor reads bytes from front to back and never past their end.
//
// Ownership: points into the bytes, which must outlive it. Threads: one at a time. Errors: a read
// returns false if too few bytes are left. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_BYTE_CURSOR_H_
#define VRAMSTOW_TOOLS_FORMATS_BYTE_CURSOR_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vramstow {

static_assert(std::endian::native == std::endian::little, "numbers are read as little-endian");

class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes)
      : begin_(bytes.data()), end_(bytes.data() + bytes.size()), next_(begin_) {}

  bool at_end() const { return next_ == end_; }
  // offset() returns the number of bytes that were read, and size() the number of all bytes.
  uint64_t offset() const { return static_cast<uint64_t>(next_ - begin_); }
  uint64_t size() const { return static_cast<uint64_t>(end_ - begin_); }

  // Returns one byte; must not be called at the end.
  uint8_t Next() { return static_cast<uint8_t>(*next_++); }

  // Reads a little-endian number.
  template <typename T>
  bool Read(T* number) {
    if (static_cast<size_t>(end_ - next_) < sizeof(T)) return false;
    std::memcpy(number, next_, sizeof(T));
    next_ += sizeof(T);
    return true;
  }

  bool ReadBytes(uint64_t size, std::string_view* bytes) {
    if (size > static_cast<uint64_t>(end_ - next_)) return false;
    *bytes = {next_, static_cast<size_t>(size)};
    next_ += size;
    return true;
  }

  // Reads a line that ends in a line feed, and returns it without its line end ("\n" or "\r\n").
  // Returns false if no line feed follows.
  bool ReadLine(std::string_view* line) {
    if (at_end()) return false;
    const void* found = std::memchr(next_, '\n', static_cast<size_t>(end_ - next_));
    if (found == nullptr) return false;
    const char* line_end = static_cast<const char*>(found);
    *line = {next_, static_cast<size_t>(line_end - next_)};
    next_ = line_end + 1;
    if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
    return true;
  }

 private:
  const char* begin_;
  const char* end_;
  const char* next_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_BYTE_CURSOR_H_
