#include "tools/analysis/accounts/collection_log.h"

#include <algorithm>
#include <utility>

#include "tools/analysis/facts/mark_text.h"

namespace vramstow {
namespace {

constexpr std::string_view kCollection = "vramstow.collection ";
constexpr std::string_view kGarbage = "vramstow.garbage ";

}  // namespace

bool CollectionLog::Add(const Event& mark, std::string_view text) {
  if (text.starts_with(kCollection)) {
    Begin(mark, text.substr(kCollection.size()));
    return true;
  }
  if (!text.starts_with(kGarbage)) return false;
  AddCycle(text.substr(kGarbage.size()));
  return true;
}

// The mark that describes a collection has this text: WHAT DEVICE FREED DURATION OBJECTS.
void CollectionLog::Begin(const Event& mark, std::string_view text) {
  int device = 0;
  uint64_t freed_bytes = 0;
  uint64_t duration_ns = 0;
  CutPart(&text, ' ');
  if (!ReadNumber(CutPart(&text, ' '), &device) || !ReadNumber(CutPart(&text, ' '), &freed_bytes) ||
      !ReadNumber(CutPart(&text, ' '), &duration_ns)) {
    return;
  }
  ++facts_.collections;
  facts_.freed_bytes += freed_bytes;
  facts_.duration_ns += duration_ns;
  facts_.most_bytes = std::max(facts_.most_bytes, freed_bytes);
  waiting_.insert(mark.thread);
}

// The mark for a reference cycle has this text: DEVICE BYTES, then the cycle and its largest
// tensor.
void CollectionLog::AddCycle(std::string_view text) {
  std::string_view line = CutPart(&text, '\n');
  CycleFacts cycle;
  int device = 0;
  cycle.cycle = CutPart(&text, '\n');
  cycle.about = text;
  if (!ReadNumber(CutPart(&line, ' '), &device) || !ReadNumber(line, &cycle.bytes)) return;
  cycle.collections = 1;
  const auto place = cycles_.find(cycle.cycle);
  if (place != cycles_.end()) {
    place->second.bytes = std::max(place->second.bytes, cycle.bytes);
    ++place->second.collections;
  } else if (cycles_.size() < kMaxCycles) {
    std::string name = cycle.cycle;
    cycles_.emplace(std::move(name), std::move(cycle));
  }
}

void CollectionLog::Decide(const Event& event) {
  if (event.kind != EventKind::kAllocate || event.layer != Layer::kFramework) return;
  if (waiting_.erase(event.thread) != 0 && event.result == 0) ++facts_.saved_requests;
}

GarbageFacts CollectionLog::Facts() const {
  GarbageFacts facts = facts_;
  for (const auto& [name, cycle] : cycles_) facts.cycles.push_back(cycle);
  std::ranges::stable_sort(facts.cycles, std::ranges::greater(), &CycleFacts::bytes);
  return facts;
}

}  // namespace vramstow
