#include "tools/top/top_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/top/top_view.h"

namespace vramstow {
namespace {

struct Column {
  std::string heading;
  std::string (*cell)(const TopProcess& process);
  size_t least_width;     // keeps the page steady when numbers grow
  int importance;         // the least important columns are removed first; 0 means first of all
  bool is_left = false;   // true if it is aligned to the left
  bool is_empty = false;  // true if it is empty for all processes
  std::vector<std::string> cells = {};
  size_t width = 0;
};

constexpr char kNothing[] = "-";

std::string StateInWords(const TopProcess& process) {
  switch (process.state) {
    case TopState::kRuns:
      return "runs";
    case TopState::kEnded:
      return "ended";
    case TopState::kKilled:
      return "killed";
    case TopState::kElsewhere:
      return "elsewhere";
  }
  return "";
}

// Returns the columns in their order. The column with the program's name is not among them; it
// comes last.
std::vector<Column> AllColumns() {
  using Process = const TopProcess&;
  return {
      {"PID", [](Process p) { return absl::StrCat(p.process); }, 7, 9},
      {"RANK", [](Process p) { return p.rank.has_value() ? absl::StrCat(*p.rank) : kNothing; }, 4,
       2},
      {"STATE", StateInWords, 6, 4, true},
      {"ALLOCATED", [](Process p) { return Bytes(p.facts.live.device.bytes); }, 9, 8},
      {"RESERVED", [](Process p) { return Bytes(ReservedNow(p.facts)); }, 9, 7},
      {"PEAK", [](Process p) { return Bytes(p.facts.peak.reserved_bytes); }, 9, 6},
      {"OOM", [](Process p) { return absl::StrCat(p.facts.counts.out_of_memory); }, 4, 5},
      {"EVENTS", [](Process p) { return Count(p.facts.report.events); }, 9, 1},
  };
}

void Fill(const std::vector<TopProcess>& processes, Column* column) {
  column->width = std::max(column->least_width, column->heading.size());
  column->is_empty = true;
  for (const TopProcess& process : processes) {
    column->cells.push_back(column->cell(process));
    column->width = std::max(column->width, column->cells.back().size());
    column->is_empty = column->is_empty && column->cells.back() == kNothing;
  }
  if (column->is_empty) column->importance = 0;
}

// Removes the least important columns until there is room for names. At least one column remains.
void Narrow(size_t columns, size_t for_names, std::vector<Column>* table) {
  const auto width = [&] {
    size_t sum = for_names + 1;
    for (const Column& column : *table) sum += column.width + 1;
    return sum;
  };
  while (width() > columns && table->size() > 1) {
    table->erase(std::ranges::min_element(*table, {}, &Column::importance));
  }
}

std::string Aligned(const std::string& text, const Column& column) {
  const std::string spaces(column.width - text.size(), ' ');
  return column.is_left ? text + spaces : spaces + text;
}

}  // namespace

std::vector<std::string> TopTable(const std::vector<TopProcess>& processes, size_t columns) {
  constexpr size_t kMaxForNames = 24;
  constexpr char kNames[] = "PROGRAM";
  size_t for_names = sizeof kNames - 1;
  for (const TopProcess& process : processes) {
    for_names = std::max(for_names, Columns(Printable(process.program)));
  }
  std::vector<Column> table = AllColumns();
  for (Column& column : table) Fill(processes, &column);
  Narrow(columns, std::min(for_names, kMaxForNames), &table);
  std::vector<std::string> lines(processes.size() + 1);
  for (const Column& column : table) {
    lines[0] += Aligned(column.heading, column) + " ";
    for (size_t i = 0; i < processes.size(); ++i) {
      lines[i + 1] += Aligned(column.cells[i], column) + " ";
    }
  }
  const size_t taken = std::min(columns, lines[0].size() + 1);
  lines[0] += absl::StrCat(" ", kNames);
  for (size_t i = 0; i < processes.size(); ++i) {
    lines[i + 1] += " " + Shortened(Printable(processes[i].program), columns - taken, false);
  }
  return lines;
}

}  // namespace vramstow
