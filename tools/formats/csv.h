// CsvReader reads lines with commas and finds columns by name.
//
// Idea: the logs that are read here use no quoting, so a quote is an ordinary character.
//
// Ownership: points into the text. Threads: one at a time. Errors: Column returns -1 for an unknown
// name. Units: lines are counted from 1; the header is line 1.
#ifndef VRAMSTOW_TOOLS_FORMATS_CSV_H_
#define VRAMSTOW_TOOLS_FORMATS_CSV_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace vramstow {

class CsvReader {
 public:
  // Reads the names of the columns from the first line of the text.
  explicit CsvReader(std::string_view text);

  int Column(std::string_view name) const;
  // Moves to the next line that is not empty; returns false at the end.
  bool NextLine();
  // Returns a column of the current line; it is empty if the line is too short or `column` is -1.
  std::string_view Field(int column) const;

  uint64_t line() const { return line_; }
  // True if the current line is the last one and has no line end, so that it may be truncated.
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
