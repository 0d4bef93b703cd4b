#include "tools/analysis/census_log.h"

#include <charconv>
#include <utility>

#include "base/typed_event.h"

namespace vramstow {
namespace {

constexpr std::string_view kCensus = "vramstow.census ";
constexpr std::string_view kHolder = "vramstow.holder ";

// The part before the separator, which is taken off with it.
std::string_view Cut(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view part = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return part;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), *number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

bool CensusLog::Add(const Event& mark, std::string_view text, uint64_t number) {
  if (text.starts_with(kCensus)) {
    Begin(mark, text.substr(kCensus.size()), number);
    return true;
  }
  if (!text.starts_with(kHolder)) return false;
  Hold(mark, text.substr(kHolder.size()));
  return true;
}

// REASON DEVICE FOUND LIVE DURATION OBJECTS, and in the next line why it ended.
void CensusLog::Begin(const Event& mark, std::string_view text, uint64_t number) {
  std::string_view line = Cut(&text, '\n');
  CensusDetail census;
  int device = 0;
  census.event = number;
  census.thread = mark.thread;
  census.reason = Cut(&line, ' ');
  census.why_ended = text;
  const bool is_right =
      ReadNumber(Cut(&line, ' '), &device) && ReadNumber(Cut(&line, ' '), &census.found_bytes) &&
      ReadNumber(Cut(&line, ' '), &census.live_bytes) &&
      ReadNumber(Cut(&line, ' '), &census.duration_ns) && ReadNumber(line, &census.objects);
  if (!is_right) return;
  if (censuses_.size() == kMost) censuses_.pop_front();
  censuses_.push_back(std::move(census));
}

// ROLE DEVICE BYTES, the holder, and what the memory is. The mark's number is the address. Another
// thread may have begun a census meanwhile.
void CensusLog::Hold(const Event& mark, std::string_view text) {
  std::string_view line = Cut(&text, '\n');
  HeldBlock block;
  block.role = Cut(&line, ' ');
  block.holder = Cut(&text, '\n');
  block.about = text;
  block.address = MarkEvent::Of(mark).number;
  if (!ReadNumber(Cut(&line, ' '), &block.device) || !ReadNumber(line, &block.bytes)) return;
  for (auto census = censuses_.rbegin(); census != censuses_.rend(); ++census) {
    if (census->thread != mark.thread) continue;
    if (census->blocks.size() < kMostBlocks) census->blocks.push_back(std::move(block));
    return;
  }
}

}  // namespace vramstow
