// Finds the phases of the program, in order, and the highest memory of each.
#include <algorithm>
#include <array>
#include <utility>

#include "tools/analysis/explain/explain.h"

namespace vramstow {
namespace {

struct Part {
  const char* name;
  uint64_t begin;
  uint64_t end;
};

const char* NameOf(Stretch::Kind kind) {
  switch (kind) {
    case Stretch::Kind::kEvaluation:
      return "evaluation";
    case Stretch::Kind::kGeneration:
      return "generation";
    case Stretch::Kind::kForward:
      return "forward";
    case Stretch::Kind::kSaving:
      break;
  }
  return "saving";
}

std::vector<Part> PartsOf(const Detail& detail, const Iterations& passes) {
  std::vector<Part> parts;
  const OtherWork& other = passes.other_work();
  // If iterations were found only by a loop in the program's lines, the kind of their work is not
  // known.
  const bool trains = other.has_training() && passes.by() != Iterations::By::kLoop;
  if (trains) {
    for (const Iteration& pass : passes.all()) parts.push_back({"training", pass.begin, pass.end});
  }
  for (const Stretch& stretch : other.all()) {
    parts.push_back({NameOf(stretch.kind), stretch.begin, stretch.end});
  }
  uint64_t first = detail.events + 1;
  for (const Part& part : parts) first = std::min(first, part.begin);
  if (!parts.empty() && first > detail.first_event) {
    parts.insert(parts.begin(), {"start_up", detail.first_event, first});
  }
  return parts;
}

void AddPart(const Detail& detail, const Part& part, PhaseFacts* phase) {
  ++phase->times;
  const uint64_t begin_ns = TimeOfEvent(detail, part.begin);
  const uint64_t end_ns = std::max(begin_ns, TimeOfEvent(detail, part.end));
  if (phase->times == 1) phase->begin_ns = begin_ns;
  phase->took_ns += end_ns - begin_ns;
  phase->has_peak |= part.begin <= detail.peak_event && detail.peak_event < part.end;
  const uint64_t per_step = std::max<uint64_t>(1, detail.events_per_step);
  const size_t last = std::min<size_t>((part.end - 2) / per_step + 1, detail.levels.size());
  for (size_t i = (part.begin - 1) / per_step; i < last; ++i) {
    phase->peak_bytes = std::max(phase->peak_bytes, detail.levels[i].allocated);
  }
}

}  // namespace

std::vector<PhaseFacts> FindPhases(const Detail& detail, const Iterations& passes) {
  std::vector<PhaseFacts> phases;
  for (const Part& part : PartsOf(detail, passes)) {
    if (part.end <= part.begin || part.begin == 0) continue;
    auto known = std::ranges::find(phases, part.name, &PhaseFacts::name);
    if (known == phases.end()) {
      phases.emplace_back().name = part.name;
      known = std::prev(phases.end());
    }
    AddPart(detail, part, &*known);
    known->decode_steps += known->name == "generation"
                               ? passes.other_work().caches().StepsWithin(part.begin, part.end)
                               : 0;
  }
  return phases;
}

}  // namespace vramstow
