// JsonRepair converts a JSON text as PyTorch's profiler writes it to standard JSON.
//
// Idea: the profiler writes numbers and texts into its file without escaping. This class replaces,
// before the parser sees them: numbers that are not finite (inf, nan) by null, control characters
// in texts by spaces, a backslash that begins no escape by an escaped one, and invalid UTF-8 and
// halves of surrogate pairs by U+FFFD. Everything else is passed on unchanged, so that the parser
// still detects damage.
//
// Ownership: the source must outlive this. Threads: one. Errors: none of its own; the source has
// its own. Memory: one window of 64 KiB. Units: bytes.
// Source of the format: torch.profiler's output_json.cpp (Kineto), and RFC 8259.
#ifndef VRAMSTOW_TOOLS_FORMATS_JSON_REPAIR_H_
#define VRAMSTOW_TOOLS_FORMATS_JSON_REPAIR_H_

#include <cstddef>
#include <cstdint>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

namespace vramstow {

class JsonRepair : public std::streambuf {
 public:
  explicit JsonRepair(std::streambuf* source) : source_(*source) {}

  // Converts a position in the repaired bytes that were read to the position in the source.
  uint64_t SourcePosition(uint64_t position) const;

 protected:
  int_type underflow() override;

 private:
  struct Change {
    uint64_t read_position;    // after the replacement
    uint64_t source_position;  // after the replaced bytes
  };

  void Refill();
  std::string_view rest() const { return std::string_view(window_).substr(next_); }
  void Copy(size_t count);
  void Replace(size_t count, std::string_view replacement);
  void OutsideText();
  void InsideText();
  void Escape();

  std::streambuf& source_;
  std::string window_;
  size_t next_ = 0;  // offset in window_
  bool at_end_ = false;
  bool in_text_ = false;
  std::string repaired_;
  uint64_t repaired_before_ = 0;  // bytes of earlier windows
  uint64_t source_before_ = 0;    // bytes of the source before window_
  std::vector<Change> changes_;   // changes in repaired_; the first is the state before
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_JSON_REPAIR_H_
