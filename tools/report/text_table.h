// Table: aligned columns of text, or a Markdown table for a comment on a pull request.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// columns of a terminal.
#ifndef VRAMSTOW_TOOLS_REPORT_TEXT_TABLE_H_
#define VRAMSTOW_TOOLS_REPORT_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace vramstow {

class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // Adds a row; missing cells at its end are empty.
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // Returns one line for each row, indented by `indent` spaces, without trailing spaces.
  std::string Text(size_t indent) const;

  // Returns a table in GitHub's Markdown, which GitLab accepts, too. The first row is the head. The
  // cells of left-aligned columns are written as code, so that no markup in them takes effect.
  // Right-aligned columns only have text that vramstow wrote.
  std::string Markdown() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_TEXT_TABLE_H_
