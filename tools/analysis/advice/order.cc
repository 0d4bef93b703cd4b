#include "tools/analysis/advice/order.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/analysis/advice/other_allocator.h"

namespace vramstow {
namespace {

constexpr uint64_t kMuchLarger = 4;
constexpr uint64_t kSmallShare = 8;

bool ServesAlone(const AdviceFacts& advice) { return advice.fits == true; }

// Applies rules 2 and 3 of the list at OrderCauses: a later cause becomes the first one if it has
// several times the bytes.
void PreferWhatIsMuchMore(uint64_t live_bytes, std::vector<Cause>* causes) {
  for (size_t turn = 0; turn < causes->size(); ++turn) {
    const uint64_t first = causes->front().bytes;
    const bool is_small = first * kSmallShare < live_bytes;
    const auto more = std::ranges::find_if(*causes, [&](const Cause& cause) {
      return ServesAlone(cause) && cause.bytes >= first * kMuchLarger &&
             (cause.proof.grows || cause.rank == Rank::kMistake || is_small);
    });
    if (more == causes->end() || more == causes->begin()) return;
    std::rotate(causes->begin(), more, std::next(more));
  }
}

// Applies rule 4 of the list at OrderCauses: activations come before the state of an optimizer if
// they are larger.
void PreferTheLargerNeed(std::vector<Cause>* causes) {
  if (causes->empty() || causes->front().id != AdviceId::kOptimizerState) return;
  const Cause& state = causes->front();
  const auto activations = std::ranges::find_if(*causes, [&](const Cause& cause) {
    return cause.id == AdviceId::kActivations && cause.fits == state.fits &&
           cause.bytes > state.bytes;
  });
  if (state.proof.grows || activations == causes->end()) return;
  std::rotate(causes->begin(), activations, std::next(activations));
}

// Applies rule 5 of the list at OrderCauses: the job's own growth comes before another process if
// it is at least half as large.
void PreferOwnGrowth(std::vector<Cause>* causes) {
  if (causes->empty() || causes->front().id != AdviceId::kOtherProcesses) return;
  const uint64_t foreign = causes->front().bytes;
  const auto own = std::ranges::find_if(*causes, [&](const Cause& cause) {
    return cause.proof.grows && ServesAlone(cause) && cause.bytes * 2 >= foreign;
  });
  if (own != causes->end()) std::rotate(causes->begin(), own, std::next(own));
}

// True if the bytes of this cause would have been room for many requests like the one that failed.
// Without fragmentation, this request would have been served, but one of the next few would have
// failed.
bool Dwarfs(const Cause& cause, const Facts& facts) {
  const OutOfMemoryFacts& last = facts.out_of_memory.back();
  return ServesAlone(cause) && cause.id != AdviceId::kLargestHolder &&
         cause.bytes >= kMuchLarger * std::max(last.pool_free_bytes, last.requested_bytes);
}

// True if the fragmented free memory had room for several requests like the one that failed, and
// for at least half of the bytes of the cause. Then, without fragmentation, the job would have run
// for several more iterations, or to its end.
bool StrandsMuch(uint64_t cause_bytes, const OutOfMemoryFacts& last) {
  return last.pool_free_bytes >= kMuchLarger * last.requested_bytes &&
         last.pool_free_bytes * 2 >= cause_bytes;
}

// Returns the class of a piece of advice, by which advice is sorted. First come single changes that
// suffice, in the order that the analysis gave them; then pairs of changes; then all other advice.
int ClassOf(const AdviceFacts& advice, bool is_first) {
  if (ServesAlone(advice) || (is_first && !advice.proof.is_proved)) return 0;
  return advice.together_with == AdviceId::kNone ? 2 : 1;
}

// Returns the memory that an allocator without fragmentation would have left after this request;
// nullopt if no replay shows it.
std::optional<uint64_t> RoomLeft(const AdviceFacts& fragmentation,
                                 const OutOfMemoryFacts& failure) {
  // If a setting of PyTorch serves the request, the advice recommends it before vramstow's pool.
  uint64_t of_setting = kStillLive;
  uint64_t of_pool = kStillLive;
  for (const ReplayFacts& replay : fragmentation.replays) {
    if (!replay.would_serve) continue;
    uint64_t& least = replay.model == "vramstow" ? of_pool : of_setting;
    least = std::min(least, replay.peak_reserved_bytes);
  }
  const uint64_t least = of_setting != kStillLive ? of_setting : of_pool;
  const uint64_t room = failure.demand.room_bytes;
  if (least == kStillLive || room == 0) return std::nullopt;
  return room - std::min(room, least);
}

// Advice on fragmentation would serve this request, and leave so much memory. A cause is put before
// such advice if its removal alone serves the request and leaves more free memory, and if the
// memory that is left does not suffice for another such request, or is less than half of a cause
// that grows: the job would only end later. If no replay shows what the advice brings, a cause
// whose removal serves the request in a replay is put before it, unless much memory was fragmented.
void PreferRoom(const OutOfMemoryFacts& failure, std::vector<AdviceFacts>* advice) {
  if (advice->empty() || advice->front().id != AdviceId::kOutOfMemoryByFragmentation) return;
  const bool is_untried = advice->front().replays.empty();
  const std::optional<uint64_t> left = RoomLeft(advice->front(), failure);
  const auto cause = std::ranges::find_if(*advice, [&](const AdviceFacts& one) {
    const bool leaves_more = one.bytes >= 2 * failure.requested_bytes ||
                             RoomLeft(one, failure).value_or(0) >= failure.requested_bytes;
    if (!one.proof.is_cause || !ServesAlone(one) || !leaves_more) return false;
    if (is_untried) return one.proof.is_proved && !StrandsMuch(one.bytes, failure);
    if (!left.has_value()) return false;
    return *left < failure.requested_bytes || (one.proof.grows && one.bytes >= 2 * *left);
  });
  if (cause != advice->end()) std::rotate(advice->begin(), cause, std::next(cause));
}

// In a job that did not fail, advice is dropped that saves nothing according to a replay up to the
// peak, unless it names a fault.
bool HasNoEffect(const AdviceFacts& advice) {
  return advice.proof.is_proved && advice.proof.lowered_bytes == 0 && !advice.proof.is_fault;
}

// If only vramstow's pool serves the request in a replay, the advice and its replays name only the
// pool.
void NameWhatServes(AdviceFacts* advice) {
  const auto answer_of = [&](std::string_view model) {
    return std::ranges::find(advice->replays, model, &ReplayFacts::model);
  };
  const auto expandable = answer_of("expandable");
  const auto pool = answer_of("vramstow");
  if (expandable == advice->replays.end() || pool == advice->replays.end()) return;
  if (expandable->would_serve || !pool->would_serve) return;
  RecommendThePoolAlone(advice);
  advice->replays.erase(expandable);
  if (advice->fits.has_value()) advice->fits = true;
}

// Orders the advice for the last failure by the results of a replay.
std::vector<AdviceFacts> ByReplay(const OutOfMemoryFacts& failure, std::vector<AdviceFacts> given) {
  struct Ranked {
    AdviceFacts* advice;
    int group;
    uint64_t lowered_bytes;
  };
  std::vector<Ranked> order;
  for (AdviceFacts& one : given) {
    if (one.id == AdviceId::kOutOfMemoryByFragmentation) NameWhatServes(&one);
    const int group = ClassOf(one, &one == given.data());
    // Fragmentation was not the reason if no allocator could have joined the free pieces.
    const bool is_of_pieces =
        one.id == AdviceId::kOutOfMemoryByFragmentation || one.id == AdviceId::kFragmentation;
    if (is_of_pieces && !one.replays.empty() &&
        std::ranges::none_of(one.replays, &ReplayFacts::would_serve)) {
      continue;
    }
    const bool changes_nothing = one.proof.is_proved && one.proof.lowered_bytes == 0 &&
                                 group == 2 && one.replayed_bytes.value_or(0) == 0;
    if (!changes_nothing) order.push_back({&one, group, one.proof.lowered_bytes});
  }
  std::ranges::stable_sort(order, [](const Ranked& a, const Ranked& b) {
    if (a.group != b.group) return a.group < b.group;
    return a.group == 2 && a.lowered_bytes > b.lowered_bytes;
  });
  std::vector<AdviceFacts> advice;
  for (const Ranked& ranked : order) advice.push_back(std::move(*ranked.advice));
  PreferRoom(failure, &advice);
  return advice;
}

}  // namespace

std::vector<Cause> OrderCauses(uint64_t live_bytes, std::vector<Cause> causes) {
  std::ranges::stable_sort(causes, [](const Cause& a, const Cause& b) {
    if (a.fits != b.fits) return ServesAlone(a);
    return !ServesAlone(a) && a.bytes > b.bytes;
  });
  PreferWhatIsMuchMore(live_bytes, &causes);
  PreferTheLargerNeed(&causes);
  PreferOwnGrowth(&causes);
  return causes;
}

std::vector<AdviceFacts> OrderAdvice(const Facts& facts, const std::vector<Cause>& causes,
                                     std::vector<RankedAdvice> hints) {
  // Advice on fragmentation comes first, with two exceptions. In the first, the first cause grows
  // with each iteration, so that it ends the job in any case, only later without fragmentation. In
  // the second, the first cause is much larger than the fragmented memory. If much memory was
  // fragmented, fragmentation comes first even then.
  const bool failed = !facts.out_of_memory.empty();
  const bool grows = !causes.empty() && failed &&
                     !StrandsMuch(causes.front().bytes, facts.out_of_memory.back()) &&
                     (causes.front().proof.grows || Dwarfs(causes.front(), facts));
  std::ranges::stable_sort(hints, [](const RankedAdvice& a, const RankedAdvice& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.bytes > b.bytes;
  });
  std::vector<AdviceFacts> advice(causes.begin(), causes.end());
  // If the size of the GPU is unknown, it is unknown which changes would suffice.
  const bool is_room_known = failed && facts.out_of_memory.back().demand.room_bytes != 0;
  for (AdviceFacts& one : advice) {
    if (!is_room_known || one.proof.is_untried) one.fits.reset();
  }
  std::ranges::move(hints, std::back_inserter(advice));
  std::ranges::stable_sort(advice, {}, [&](const AdviceFacts& one) {
    if (one.id == AdviceId::kOutOfMemoryByFragmentation) return 1;
    return grows && one.id == causes.front().id ? 0 : 2;
  });
  return advice;
}

WouldFitFacts WouldFit(const AdviceFacts& cause) {
  return {cause.id, cause.place, cause.holder, cause.bytes, ServesAlone(cause), cause.is_estimate};
}

void ComposeAdvice(ProvedAdvice proved, Facts* facts) {
  facts->advice = std::move(proved.advice);
  if (facts->out_of_memory.empty()) {
    std::erase_if(facts->advice, HasNoEffect);
    return;
  }
  OutOfMemoryFacts& failure = facts->out_of_memory.back();
  failure.replays = std::move(proved.replays);
  failure.advice_not_replayed = proved.not_replayed;
  if (failure.replays.empty()) return;
  facts->advice = ByReplay(failure, std::move(facts->advice));
  failure.would_fit.clear();
  for (const AdviceFacts& one : facts->advice) {
    if (one.proof.is_cause) failure.would_fit.push_back(WouldFit(one));
  }
  failure.cause = failure.would_fit.empty() ? AdviceId::kNone : failure.would_fit.front().cause;
}

}  // namespace vramstow
