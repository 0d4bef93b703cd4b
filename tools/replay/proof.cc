#include "tools/replay/proof.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/facts/library_failure.h"
#include "tools/base/words.h"
#include "tools/replay/catalog.h"
#include "tools/replay/failed_requests.h"
#include "tools/replay/replay.h"

namespace vramstow {
namespace {

constexpr uint64_t kTenth = 10;
constexpr uint64_t kStepOfRoom = 200;  // a step is this part of it
constexpr uint64_t kMaxSteps = 4;
constexpr uint64_t kUnlimited = 16;  // a limit of 16 times the room is like none
constexpr char kPool[] = "vramstow";

ModelSpec SpecOf(const std::string& name) { return ParseModels(name)->front(); }

bool Says(const Facts& facts, const std::string& name, const std::string& value) {
  const auto fact = facts.trace_metadata.find(name);
  return fact != facts.trace_metadata.end() && fact->second == value;
}

// Returns the allocator that served the process; empty if it has no model.
std::string AllocatorOf(const Facts& facts, bool has_tensors) {
  if (Says(facts, "option.pool", "on")) return kPool;
  if (!has_tensors) return "";
  return Says(facts, "allocator.expandable_segments", "true") ? "expandable" : "native";
}

// A process may request any number of bytes, even one that cannot be added to what it holds.
uint64_t CappedSum(uint64_t a, uint64_t b) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  return a + std::min(b, kMax - a);
}

// Returns the event of the last failure of PyTorch's before the last one of `facts`, on the same
// device; 0 if there is none.
uint64_t SurvivedBefore(const Facts& facts) {
  const OutOfMemoryFacts& last = facts.out_of_memory.back();
  uint64_t event = 0;
  for (const OutOfMemoryFacts& failure : facts.out_of_memory) {
    const bool is_before = failure.event < last.event && failure.device == last.device;
    if (is_before && IsDeviceMemory(failure.memory) && !IsLibraryFailure(failure)) {
      event = std::max(event, failure.event);
    }
  }
  return event;
}

// The result of a replay of one change with one model.
struct Answer {
  ReplayFacts facts;
  uint64_t at_request = 0;  // allocated when the request has come, without a limit
  uint64_t needed = 0;      // the reserved peak
};

// Replays changes within a limit of work.
class Player {
 public:
  Player(const FailedRequests& source, uint64_t room, const ProofBudget& budget)
      : source_(source), room_(room), left_(budget.most_work) {}

  bool CanGoOn() const { return 2 * source_.size() <= left_; }
  uint64_t room() const { return room_; }
  void SetRoom(uint64_t bytes) { room_ = bytes; }
  Answer Play(const std::string& model, const Change& change) {
    Requests requests = source_.With(change);
    requests.device_bytes = room_ * kUnlimited;
    const ModelSpec spec = SpecOf(model);
    ModelOutcome outcome = Run(requests, spec, 0);
    const uint64_t asked = requests.list.empty() ? 0 : requests.list.back().bytes;
    // A model refuses a request that is larger than its device before it reserves anything for it.
    const bool refuses = outcome.out_of_memory > 0 || outcome.allocated_at_end < asked;
    if (refuses) AddRefused(asked, &outcome);
    Answer answer;
    answer.at_request = outcome.allocated_at_end;
    bool serves = !refuses && outcome.peak_reserved <= room_;
    if (!serves) {
      // This replay has the process's limit, because an allocator releases its cache before it
      // fails.
      ModelOutcome limited = Run(requests, spec, room_);
      serves = !refuses && limited.out_of_memory == 0;
      const uint64_t with_request = CappedSum(limited.peak_reserved, asked);
      if (serves) {
        outcome = std::move(limited);
      } else if (with_request > room_) {
        // A cache that grows without a limit becomes larger than necessary, so the smaller figure
        // is used.
        outcome.peak_reserved = std::min(outcome.peak_reserved, with_request);
      }
    }
    answer.needed = outcome.peak_reserved;
    answer.facts = {model, outcome.peak_reserved, outcome.peak_allocated, serves};
    return answer;
  }

 private:
  // The request would have needed at least its bytes in addition to what is live.
  static void AddRefused(uint64_t asked, ModelOutcome* outcome) {
    outcome->allocated_at_end = CappedSum(outcome->allocated_at_end, asked);
    outcome->peak_allocated = std::max(outcome->peak_allocated, outcome->allocated_at_end);
    outcome->peak_reserved = std::max(outcome->peak_reserved, outcome->allocated_at_end);
  }
  ModelOutcome Run(const Requests& requests, const ModelSpec& spec, uint64_t limit) {
    left_ -= std::min(left_, requests.list.size());
    return Replay(requests, spec, {.memory_bytes = limit});
  }

  const FailedRequests& source_;
  uint64_t room_;
  size_t left_;
};

// Returns one change that has the effects of both changes.
Change Join(const Change& a, const Change& b) {
  std::map<uint32_t, LifeChange> lives;
  for (const Change* change : {&a, &b}) {
    for (const LifeChange& one : change->lives) {
      LifeChange& joined = lives.try_emplace(one.life, one).first->second;
      joined.bytes = std::min(joined.bytes, one.bytes);
      joined.end = std::min(joined.end, one.end);
    }
  }
  Change change;
  for (const auto& [life, one] : lives) change.lives.push_back(one);
  if (a.requested.has_value() || b.requested.has_value()) {
    constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
    change.requested = std::min(a.requested.value_or(kMax), b.requested.value_or(kMax));
  }
  return change;
}

class Prover {
 public:
  Prover(const FailedRequests& source, const ProofBudget& budget, const Facts& facts,
         ProvedAdvice* proved)
      : budget_(budget),
        proved_(*proved),
        player_(source, facts.out_of_memory.back().demand.room_bytes, budget),
        ran_(AllocatorOf(facts, source.has_tensors())) {}

  void Prove() {
    if (!player_.CanGoOn()) {
      proved_.not_replayed = proved_.advice.size();
      return;
    }
    PlayUnchanged();
    for (AdviceFacts& advice : proved_.advice) ProveOne(&advice);
    if (shows_failure_ && std::ranges::none_of(proved_.advice, ServesAlone)) FindPairs();
  }

 private:
  static bool ServesAlone(const AdviceFacts& advice) { return advice.fits == true; }
  std::string First() const { return ran_.empty() ? kPool : ran_; }

  void PlayUnchanged() {
    // A model packs blocks a little more densely than an allocator that waits for work. If it
    // serves the unchanged requests, this may be the only reason, so they are replayed again with
    // slightly less room.
    const uint64_t room = player_.room();
    unchanged_ = player_.Play(First(), {});
    for (uint64_t step = 1; unchanged_.facts.would_serve && step <= kMaxSteps; ++step) {
      if (!player_.CanGoOn()) break;
      player_.SetRoom(room - room / kStepOfRoom * step);
      const Answer narrower = player_.Play(First(), {});
      if (!narrower.facts.would_serve) unchanged_ = narrower;
    }
    shows_failure_ = !unchanged_.facts.would_serve;
    if (!shows_failure_) player_.SetRoom(room);
    proved_.replays.push_back(unchanged_.facts);
    if (First() == kPool) return;
    proved_.replays.push_back(player_.Play(kPool, {}).facts);
  }

  void ProveOne(AdviceFacts* given) {
    AdviceFacts& advice = *given;
    if (!advice.change.known() || advice.change.keeps_cache) return;
    if (!player_.CanGoOn()) {
      ++proved_.not_replayed;
      return;
    }
    const Change& change = advice.change;
    const std::string model = change.allocator.empty() ? First() : change.allocator;
    const Answer answer = player_.Play(model, change);
    advice.replays.push_back(answer.facts);
    if (model != kPool) advice.replays.push_back(player_.Play(kPool, change).facts);
    const bool decides = shows_failure_ || change.shares_pool;
    if (!decides) {
      // The model serves even the unchanged requests, so that it serves these in any case, and its
      // results would be read as a proof. They only count where other allocators fail, too.
      const bool serves = std::ranges::any_of(advice.replays, &ReplayFacts::would_serve);
      if (serves || change.allocator.empty()) advice.replays.clear();
      advice.is_estimate = true;
      return;
    }
    advice.proof.is_proved = true;
    advice.proof.lowered_bytes = unchanged_.needed - std::min(unchanged_.needed, answer.needed);
    if (!ran_.empty()) advice.fits = answer.facts.would_serve;
    if (change.shares_pool || !change.allocator.empty()) return;
    const uint64_t before = unchanged_.at_request + change.spared_later;
    advice.replayed_bytes = before - std::min(before, answer.at_request);
    const uint64_t difference = std::max(*advice.replayed_bytes, advice.bytes) -
                                std::min(*advice.replayed_bytes, advice.bytes);
    if (difference * kTenth > advice.bytes) advice.is_estimate = true;
  }

  // Searches among the advice that lowers the need most for pairs that together serve the request.
  void FindPairs() {
    std::vector<AdviceFacts*> best;
    for (AdviceFacts& advice : proved_.advice) {
      const bool may = advice.proof.is_proved && advice.proof.lowered_bytes > 0 &&
                       advice.change.allocator.empty();
      if (may) best.push_back(&advice);
    }
    std::ranges::stable_sort(best, std::ranges::greater(),
                             [](const AdviceFacts* advice) { return advice->proof.lowered_bytes; });
    if (best.size() > budget_.most_in_pairs) best.resize(budget_.most_in_pairs);
    for (size_t a = 0; a < best.size(); ++a) {
      for (size_t b = a + 1; b < best.size(); ++b) {
        AdviceFacts& one = *best[a];
        AdviceFacts& other = *best[b];
        if (one.id == other.id || !player_.CanGoOn()) continue;
        if (!player_.Play(First(), Join(one.change, other.change)).facts.would_serve) continue;
        if (one.together_with == AdviceId::kNone) one.together_with = other.id;
        if (other.together_with == AdviceId::kNone) other.together_with = one.id;
      }
    }
  }

  const ProofBudget& budget_;
  ProvedAdvice& proved_;
  Player player_;
  const std::string ran_;
  Answer unchanged_;
  bool shows_failure_ = false;  // the unchanged requests are not served either
};

// Replays a job that did not run out of memory. Finds how much memory its allocator needs up to the
// peak, without a change and with each change.
class PeakProver {
 public:
  PeakProver(const Detail& detail, const ProofBudget& budget, const Facts& facts)
      : detail_(detail),
        budget_(budget),
        facts_(facts),
        device_(DeviceAtPeak(detail)),
        measured_(facts.peak.reserved_bytes) {
    for (const DeviceFacts& device : facts.devices) {
      if (device.device == device_) measured_ = ReservedOf(device);
    }
  }

  void Prove(std::vector<AdviceFacts>* given) const {
    const FailedRequests source(detail_, Until(detail_.peak_event), budget_.most_requests);
    const std::string ran = AllocatorOf(facts_, source.has_tensors());
    // With the device's own size as a limit, PyTorch's allocator would fill the device with its
    // cache, with and without the change, and what the change saves could not be seen.
    Player player(source, Ample(), budget_);
    if (ran.empty() || measured_ == 0 || !player.CanGoOn()) return;
    const Answer unchanged = player.Play(ran, {});
    for (AdviceFacts& advice : *given) {
      if (!advice.change.known() || !player.CanGoOn()) continue;
      if (advice.change.keeps_cache) {
        ProveKeptCache(ran, &advice);
        continue;
      }
      const std::string model = advice.change.allocator.empty() ? ran : advice.change.allocator;
      const Answer answer = player.Play(model, advice.change);
      advice.replays.push_back(answer.facts);
      // Another allocator is compared with what the process itself reserved: on a full device its
      // own allocator releases its cache, and so it needs less there than in the replay.
      const uint64_t before =
          model == ran ? unchanged.needed : std::min(unchanged.needed, measured_);
      advice.replayed_bytes = before - std::min(before, answer.needed);
      advice.proof.is_proved = true;
      advice.proof.lowered_bytes = *advice.replayed_bytes;
      const uint64_t difference = std::max(*advice.replayed_bytes, advice.bytes) -
                                  std::min(*advice.replayed_bytes, advice.bytes);
      if (difference * kTenth > advice.bytes) advice.is_estimate = true;
    }
  }

 private:
  static uint64_t ReservedOf(const DeviceFacts& device) {
    return std::max(device.peak_reserved_bytes, device.peak_bytes);
  }
  OutOfMemoryFacts Until(uint64_t event) const {
    OutOfMemoryFacts end;
    end.event = event + 1;
    end.device = device_;
    return end;
  }
  // Returns so much memory that no request of a replay is refused.
  uint64_t Ample() const { return 4 * measured_; }
  // Returns the memory that a replay of the whole run may use: what the process found on its
  // device. When the device is full, an allocator releases its cache. If the device is unknown, no
  // request is refused.
  uint64_t Room() const {
    uint64_t room = Ample();
    for (const DeviceFacts& device : facts_.devices) {
      if (device.device != device_) continue;
      const uint64_t has = device.free_bytes_at_start.value_or(device.total_bytes.value_or(room));
      room = std::min(room, std::max(measured_, has));
    }
    return room;
  }
  // Without the calls of empty_cache() the whole run may need more, not only its part up to the
  // peak.
  void ProveKeptCache(const std::string& ran, AdviceFacts* advice) const {
    if (facts_.cache.flush_count > facts_.cache.flushes.size()) return;
    const FailedRequests source(detail_, Until(detail_.events), budget_.most_requests);
    Player player(source, Room(), budget_);
    if (!player.CanGoOn()) return;
    // The process itself reserved no more than was measured.
    const uint64_t before = std::min(player.Play(ran, {}).needed, measured_);
    const uint64_t after = player.Play(ran, advice->change).needed;
    advice->cost = after > before
                       ? "In a replay of the run without the calls, the allocator reserves " +
                             Bytes(after) + " instead of " + Bytes(before) + "."
                       : "None: in a replay of the run without the calls, the allocator reserves "
                         "no more memory than with them.";
  }

  const Detail& detail_;
  const ProofBudget& budget_;
  const Facts& facts_;
  const int device_;
  uint64_t measured_;  // the most that the process reserved on the device
};

}  // namespace

ProvedAdvice ProveAdvice(const Detail& detail, const Facts& facts, std::vector<AdviceFacts> advice,
                         const ProofBudget& budget) {
  ProvedAdvice proved;
  proved.advice = std::move(advice);
  if (proved.advice.empty()) return proved;
  if (facts.out_of_memory.empty()) {
    if (detail.peak_event != 0) PeakProver(detail, budget, facts).Prove(&proved.advice);
  } else if (const OutOfMemoryFacts& failure = facts.out_of_memory.back();
             failure.has_story && failure.demand.room_bytes != 0) {
    const FailedRequests source(detail, failure, budget.most_requests, SurvivedBefore(facts));
    Prover(source, budget, facts, &proved).Prove();
  }
  for (AdviceFacts& one : proved.advice) one.change = {};
  return proved;
}

}  // namespace vramstow
