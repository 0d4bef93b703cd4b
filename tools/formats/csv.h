// CsvReader: lines with commas, columns found by name.
//
// Idea: the logs that are read here quote nothing, so a quote is no special character.
//
// Ownership: points into the text. Threads: one at a time. Errors: Column is -1 for a name that is
// not there. Units: lines are counted from 1, the header is the first.
#ifndef VRAMSTOW_TOOLS_FORMATS_CSV_H_
#define VRAMSTOW_TOOLS_FORMATS_CSV_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace vramstow {

class CsvReader {
 public:
  // Reads the header.
  explicit CsvReader(std::string_view text);

  int Column(std::string_view name) const;
  // The next line that is not empty; false at the end.
  bool NextLine();
  // A column of the current line; empty where the line is too short or `column` is -1.
  std::string_view Field(int column) const;

  uint64_t line() const { return line_; }
  // The current line is the last and has no line end: it may have been cut off.
  bool is_unfinished() const { return unfinished_; }

 private:
  bool ReadLine();

  std::string_view rest_;
  std::vector<std::string_view> header_;
  std::vector<std::string_view> fields_;
  uint64_t line_ = 0;
  bool unfinished_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_CSV_H_
