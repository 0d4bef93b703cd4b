#include "tools/report/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tools/base/words.h"

namespace vramstow {
namespace {

constexpr size_t kLabelWidth = 9;
constexpr std::array<const char*, 9> kEighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> kBarEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

std::string Label(const std::string& text) {
  return std::string(kLabelWidth - std::min(kLabelWidth, Columns(text)), ' ') + text;
}

// Returns the highest value of each column.
std::vector<uint64_t> ColumnsOf(const TimelineFacts& timeline, size_t columns) {
  const std::vector<TimelinePoint>& points = timeline.points;
  std::vector<uint64_t> heights(columns, 0);
  for (size_t column = 0; column < columns; ++column) {
    const size_t first = column * points.size() / columns;
    const size_t last = std::max(first + 1, (column + 1) * points.size() / columns);
    for (size_t i = first; i < last; ++i) {
      heights[column] = std::max(heights[column], points[i].allocated_highest);
    }
  }
  return heights;
}

// Returns how many eighths of a column's character cell in `row` are filled. Row 0 is the lowest.
size_t Eighths(uint64_t value, uint64_t highest, size_t height, size_t row) {
  const double filled =
      static_cast<double>(value) / static_cast<double>(highest) * static_cast<double>(height) * 8;
  size_t eighths = static_cast<size_t>(std::lround(filled));
  if (value > 0) eighths = std::max<size_t>(eighths, 1);
  return eighths <= row * 8 ? 0 : std::min<size_t>(eighths - row * 8, 8);
}

}  // namespace

std::string Chart(const TimelineFacts& timeline, uint64_t end_ns, const ChartStyle& style) {
  uint64_t highest = 0;
  for (const TimelinePoint& point : timeline.points) {
    highest = std::max(highest, point.allocated_highest);
  }
  if (highest == 0 || style.width < kLabelWidth + 12) return "";
  const size_t columns = style.width - kLabelWidth - 2;
  const std::vector<uint64_t> heights = ColumnsOf(timeline, columns);
  std::string chart;
  for (size_t row = style.height; row-- > 0;) {
    const bool labelled = row + 1 == style.height || row == style.height / 2;
    const uint64_t value = row + 1 == style.height ? highest : highest / 2;
    chart += labelled ? Label(Bytes(value)) : std::string(kLabelWidth, ' ');
    chart += style.utf8 ? " │" : " |";
    std::string line;
    for (uint64_t height : heights) {
      const size_t eighths = Eighths(height, highest, style.height, row);
      line += style.utf8 ? kEighths[eighths] : eighths >= 4 ? "#" : eighths > 0 ? "." : " ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    chart += line + '\n';
  }
  chart += Label("0 B") + (style.utf8 ? " └" : " +");
  for (size_t column = 0; column < columns; ++column) chart += style.utf8 ? "─" : "-";
  const std::string end = Time(end_ns);
  chart += '\n' + std::string(kLabelWidth + 2, ' ') + '0';
  chart += std::string(columns - std::min(columns, Columns(end) + 1), ' ') + end + '\n';
  return chart;
}

std::string Bar(uint64_t part, uint64_t whole, size_t width, bool utf8) {
  if (part == 0 || whole == 0) return "";
  const double filled =
      static_cast<double>(part) / static_cast<double>(whole) * static_cast<double>(width);
  std::string bar;
  if (!utf8) {
    return std::string(std::clamp<size_t>(static_cast<size_t>(std::lround(filled)), 1, width), '#');
  }
  const size_t eighths =
      std::clamp<size_t>(static_cast<size_t>(std::lround(filled * 8)), 1, width * 8);
  for (size_t i = 0; i < eighths / 8; ++i) bar += kBarEighths[8];
  return bar + kBarEighths[eighths % 8];
}

}  // namespace vramstow
