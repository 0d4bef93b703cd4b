#include "tools/analysis/facts/census_log.h"

#include <algorithm>
#include <utility>

#include "base/typed_event.h"
#include "tools/analysis/facts/mark_text.h"

namespace vramstow {
namespace {

constexpr std::string_view kCensus = "vramstow.census ";
constexpr std::string_view kHolder = "vramstow.holder ";

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

// The mark that describes a census (a reference scan) has this text: REASON DEVICE FOUND LIVE
// DURATION OBJECTS, and in the next line the reason why the census ended.
void CensusLog::Begin(const Event& mark, std::string_view text, uint64_t number) {
  std::string_view line = CutPart(&text, '\n');
  CensusDetail census;
  int device = 0;
  census.event = number;
  census.thread = mark.thread;
  census.reason = CutPart(&line, ' ');
  census.why_ended = text;
  const bool is_right = ReadNumber(CutPart(&line, ' '), &device) &&
                        ReadNumber(CutPart(&line, ' '), &census.found_bytes) &&
                        ReadNumber(CutPart(&line, ' '), &census.live_bytes) &&
                        ReadNumber(CutPart(&line, ' '), &census.duration_ns) &&
                        ReadNumber(line, &census.objects);
  if (!is_right) return;
  if (censuses_.size() == kMax) {
    const auto left_out = std::ranges::find_if(censuses_, &CensusDetail::is_left_out);
    censuses_.erase(left_out == censuses_.end() ? censuses_.begin() : left_out);
  }
  censuses_.push_back(std::move(census));
}

// The mark of a piece of memory has this text: ROLE DEVICE BYTES, the holder, and a description of
// the memory. The number of the mark is the address of the memory. Another thread may have begun a
// census (a reference scan) since the census of this mark began.
void CensusLog::Hold(const Event& mark, std::string_view text) {
  std::string_view line = CutPart(&text, '\n');
  HeldBlock block;
  block.role = CutPart(&line, ' ');
  block.holder = CutPart(&text, '\n');
  block.about = text;
  block.address = MarkEvent::Of(mark).number;
  if (!ReadNumber(CutPart(&line, ' '), &block.device) || !ReadNumber(line, &block.bytes)) return;
  for (auto census = censuses_.rbegin(); census != censuses_.rend(); ++census) {
    if (census->thread != mark.thread) continue;
    if (census->blocks.size() < kMaxBlocks) census->blocks.push_back(std::move(block));
    return;
  }
}

}  // namespace vramstow
