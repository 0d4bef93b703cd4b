#include "tools/analysis/facts/launch_tally.h"

#include <algorithm>

#include "base/demangle.h"
#include "base/typed_event.h"

namespace vramstow {
namespace {

std::vector<LaunchedFacts> MostFirst(const std::map<std::string, uint64_t, std::less<>>& sums) {
  std::vector<LaunchedFacts> list;
  list.reserve(sums.size());
  for (const auto& [name, launches] : sums) list.push_back({name, launches});
  std::sort(list.begin(), list.end(), [](const LaunchedFacts& a, const LaunchedFacts& b) {
    return a.launches != b.launches ? a.launches > b.launches : a.name < b.name;
  });
  if (list.size() > kMaxLaunched) list.resize(kMaxLaunched);
  return list;
}

}  // namespace

void LaunchTally::Mark(const Event& mark, std::string_view text) {
  const MarkEvent range_mark = MarkEvent::Of(mark);
  const MarkKind kind = range_mark.kind;
  const uint64_t number = range_mark.number;
  if (kind == MarkKind::kRangeBegins) {
    if (open_.size() < kMaxOpen) open_.push_back({mark.thread, number, std::string(text)});
    return;
  }
  if (kind != MarkKind::kRangeEnds) return;
  // The end of a range with a number ends the range with that number. The end of a range without a
  // number ends the innermost range of its thread.
  const auto ended = std::find_if(open_.rbegin(), open_.rend(), [&](const Range& range) {
    return number != 0 ? range.number == number : range.number == 0 && range.thread == mark.thread;
  });
  if (ended != open_.rend()) open_.erase(std::next(ended).base());
}

const LaunchTally::Range* LaunchTally::RangeOf(uint32_t thread) const {
  const auto own = std::find_if(open_.rbegin(), open_.rend(),
                                [thread](const Range& range) { return range.thread == thread; });
  if (own != open_.rend()) return &*own;
  return open_.empty() ? nullptr : &open_.back();
}

void LaunchTally::Add(const Event& event, std::string_view kernel, uint64_t now) {
  const LaunchEvent launch = LaunchEvent::Of(event);
  launches_ += launch.launches;
  sampled_ = sampled_ || launch.is_sample;
  const auto add = [&launch](Sums* sums, std::string_view name) {
    auto sum = sums->find(name);
    if (sum == sums->end()) {
      const bool has_room = sums->size() < kMaxNames;
      sum = sums->try_emplace(has_room ? std::string(name) : "(others)", 0).first;
    }
    sum->second += launch.launches;
  };
  add(&by_kernel_, kernel);
  if (const Range* range = RangeOf(event.thread)) add(&by_range_, range->text);
  AddStep(now);
}

// If there are too many steps, each two neighbours are joined.
void LaunchTally::AddStep(uint64_t now) {
  if (!steps_.empty() && now - steps_.back().event < events_per_step_) {
    steps_.back().launches = launches_;
    return;
  }
  if (steps_.size() == kMaxSteps) {
    for (size_t i = 1; i < steps_.size(); i += 2) steps_[i / 2] = steps_[i];
    steps_.resize(steps_.size() / 2);
    events_per_step_ *= 2;
  }
  steps_.push_back({now, launches_});
}

LaunchesFacts LaunchTally::Facts() const {
  LaunchesFacts facts;
  facts.launches = launches_;
  facts.sampled = sampled_;
  facts.by_kernel = MostFirst(by_kernel_);
  for (LaunchedFacts& kernel : facts.by_kernel) kernel.name = Demangled(kernel.name.c_str());
  facts.by_range = MostFirst(by_range_);
  return facts;
}

uint64_t LaunchesBetween(const std::vector<LaunchStep>& steps, uint64_t begin, uint64_t end) {
  const auto until = [&steps](uint64_t event) {
    const auto next = std::lower_bound(
        steps.begin(), steps.end(), event,
        [](const LaunchStep& step, uint64_t wanted) { return step.event < wanted; });
    return next == steps.begin() ? 0 : std::prev(next)->launches;
  };
  return until(end) - until(begin);
}

}  // namespace vramstow
