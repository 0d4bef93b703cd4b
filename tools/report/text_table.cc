#include "tools/report/text_table.h"

#include <algorithm>

#include "tools/base/words.h"

namespace vramstow {
namespace {

// Returns the text as Markdown code, so that it contains no markup, links or mentions.
std::string AsCode(const std::string& text) {
  if (text.empty()) return text;
  size_t longest = 0;
  size_t run = 0;
  std::string inner;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|') {
      // Escapes "|", which would end the cell. A backslash before it is replaced by a slash,
      // because two backslashes would be read as one.
      if (inner.ends_with('\\')) inner.back() = '/';
      inner += '\\';
    }
    inner += c == '\n' || c == '\r' ? ' ' : c;
  }
  const std::string fence(longest + 1, '`');
  const char* const space = longest > 0 ? " " : "";
  return fence + space + inner + space + fence;
}

}  // namespace

std::string Table::Text(size_t indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Columns(row[i]));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - Columns(row[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i] == Align::kRight ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string Table::Markdown() const {
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    text += '|';
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string cell = i < row.size() ? row[i] : std::string();
      const bool is_text = &row != rows_.data() && columns_[i] == Align::kLeft;
      text += ' ' + (is_text ? AsCode(cell) : cell) + " |";
    }
    text += '\n';
    if (&row != rows_.data()) continue;
    text += '|';
    for (const Align column : columns_) text += column == Align::kRight ? " ---: |" : " --- |";
    text += '\n';
  }
  return text;
}

}  // namespace vramstow
