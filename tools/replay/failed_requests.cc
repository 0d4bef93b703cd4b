#include "tools/replay/failed_requests.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace vramstow {
namespace {

uint64_t AskedFor(const Life& life) { return life.requested != 0 ? life.requested : life.size; }

// Maps a free to the event at which the freed memory may be reused. A free is identified by its
// address and its event. The map has only frees whose memory may not be reused at once.
using Completions = absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint64_t>;

Completions CompletionsOf(const Detail& detail) {
  Completions completions;
  for (const Life& life : detail.lives) {
    if (life.pending) completions[{life.address, life.birth}] = life.death;
  }
  return completions;
}

}  // namespace

// Writes the requests of the program with the change applied.
class FailedRequests::Writer {
 public:
  Writer(const FailedRequests& source, const Change& change) : source_(source) {
    requests_.device = static_cast<int16_t>(source.device_);
    requests_.layer = source.has_tensors_ ? Layer::kFramework : Layer::kDriver;
    requests_.list.reserve(source.size() + change.lives.size());
    for (const LifeChange& one : change.lives) {
      changes_[one.life] = &one;
      if (one.end != LifeChange::kAsBefore) ends_.push_back({one.end, one.life});
    }
    std::ranges::sort(ends_);
  }

  void Allocate(uint32_t number, uint64_t event) {
    FreeUntil(event);
    uint64_t bytes = AskedFor(source_.detail_->lives[number]);
    if (const auto change = changes_.find(number); change != changes_.end()) {
      bytes = change->second->end <= event ? 0 : change->second->bytes;
    }
    if (bytes == 0) return;
    blocks_[number] = requests_.blocks;
    Add(bytes, event);
  }
  void Free(uint32_t number, uint64_t event) {
    FreeUntil(event);
    const auto block = blocks_.find(number);
    if (block == blocks_.end()) return;
    requests_.list.push_back({.event = event, .block = block->second, .kind = RequestKind::kFree});
    blocks_.erase(block);
  }
  void Flush(uint64_t event) {
    FreeUntil(event);
    requests_.list.push_back({.event = event, .kind = RequestKind::kFlush});
  }
  Requests Done(uint64_t requested, uint64_t event) {
    FreeUntil(event);
    if (requested != 0) Add(requested, event);
    requests_.streams = 1;
    requests_.last_of_pool = {requests_.list.size()};
    return std::move(requests_);
  }

 private:
  void Add(uint64_t bytes, uint64_t event) {
    if (event > source_.survived_ && source_.survived_ > 0 && requests_.judged_from == 0) {
      requests_.list.push_back({.event = event, .kind = RequestKind::kFlush});
      requests_.judged_from = requests_.list.size();
    }
    requests_.list.push_back({.bytes = bytes,
                              .event = event,
                              .block = requests_.blocks++,
                              .kind = RequestKind::kAllocate});
  }
  void FreeUntil(uint64_t event) {
    while (next_end_ < ends_.size() && ends_[next_end_].first <= event) {
      const auto [end, number] = ends_[next_end_++];
      Free(number, end - 1);
    }
  }

  const FailedRequests& source_;
  Requests requests_;
  absl::flat_hash_map<uint32_t, const LifeChange*> changes_;
  std::vector<std::pair<uint64_t, uint32_t>> ends_;
  size_t next_end_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> blocks_;  // by life, while it lives
};

FailedRequests::FailedRequests(const Detail& detail, const OutOfMemoryFacts& failure, size_t most,
                               uint64_t survived)
    : detail_(&detail),
      failed_(failure.event),
      survived_(survived),
      requested_(failure.requested_bytes),
      device_(failure.device) {
  FillSteps();
  if (steps_.size() > most) LeaveNewest(most);
}

void FailedRequests::FillSteps() {
  const Completions completions = CompletionsOf(*detail_);
  for (uint32_t i = 0; i < detail_->lives.size(); ++i) {
    const Life& life = detail_->lives[i];
    if (life.birth >= failed_) break;
    if (life.pending || life.device != device_) continue;
    has_tensors_ |= life.tensor;
    steps_.push_back({life.birth, i, StepKind::kBirth});
    uint64_t end = life.death;
    const auto completed = completions.find({life.address, life.death});
    if (completed != completions.end()) end = completed->second;
    if (end < failed_) steps_.push_back({end, i, StepKind::kFree});
  }
  for (const uint64_t flush : detail_->flushes) {
    if (flush < failed_) steps_.push_back({flush, 0, StepKind::kFlush});
  }
  std::ranges::stable_sort(steps_, {}, &Step::event);
}

void FailedRequests::LeaveNewest(size_t most) {
  const uint64_t begin = steps_[steps_.size() - most].event;
  absl::flat_hash_set<uint32_t> live;
  for (const Step& step : steps_) {
    if (step.event >= begin) break;
    if (step.kind == StepKind::kBirth) live.insert(step.life);
    if (step.kind == StepKind::kFree) live.erase(step.life);
  }
  opening_.assign(live.begin(), live.end());
  std::ranges::sort(opening_);
  std::erase_if(steps_, [begin](const Step& step) { return step.event < begin; });
}

Requests FailedRequests::With(const Change& change) const {
  Writer writer(*this, change);
  for (const uint32_t life : opening_) writer.Allocate(life, detail_->lives[life].birth);
  for (const Step& step : steps_) {
    switch (step.kind) {
      case StepKind::kBirth:
        writer.Allocate(step.life, step.event);
        break;
      case StepKind::kFree:
        writer.Free(step.life, step.event);
        break;
      case StepKind::kFlush:
        if (!change.keeps_cache) writer.Flush(step.event);
        break;
    }
  }
  return writer.Done(change.requested.value_or(requested_), failed_);
}

}  // namespace vramstow
