// Table: columns of text, aligned; or as Markdown, for a comment on a change.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: columns of a terminal.
#ifndef VRAMSTOW_TOOLS_REPORT_TABLE_H_
#define VRAMSTOW_TOOLS_REPORT_TABLE_H_

#include <string>
#include <vector>

namespace vramstow {

class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // Missing cells at the end are empty.
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  // One line for each row, begun with `indent` spaces, no spaces at the end.
  std::string Text(size_t indent) const;

  // As a table of GitHub's Markdown, which GitLab reads, too. The first row is the head; columns at
  // the left are code, so that nothing in them is markup, those at the right are ours.
  std::string Markdown() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_TABLE_H_
