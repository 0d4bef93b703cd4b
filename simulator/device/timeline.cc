#include "simulator/device/timeline.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace vramstow::simulator {
namespace {

// An operation starts 1 to 5 microseconds after the moment at which it could start. The delay
// models the time of a launch, and leaves room for the seed to choose an order.
constexpr uint64_t kStartMinNs = 1000;
constexpr uint64_t kStartSpreadNs = 4000;
constexpr uint64_t kAskNs = 2000;
// With clock=model, a program that asks this many times in a row whether work has ended makes each
// further query advance the clock twice as far as the query before, up to about a millisecond.
constexpr uint64_t kAsksAtOnce = 16;
constexpr uint64_t kMaxDoublings = 9;
// A pause between two calls that is shorter than this is attributed to the program's own work or to
// other load of the machine.
constexpr uint64_t kPauseNs = 1000000;
// If work was enqueued longer ago than this, a query whether the work has ended advances the clock
// by all real time since it was enqueued.
constexpr uint64_t kLongAgoNs = 20000000;
// Largest number of pending operations in a queue with clock=model.
constexpr size_t kFarAhead = 1024;
// In adversarial order, one in this many queries lets an operation end.
constexpr uint64_t kAsksPerStep = 16;

}  // namespace

// Queues that wait for each other hold references to each other, so the destructor drops pending
// operations explicitly.
Timeline::~Timeline() {
  std::vector<QueuePointer> open;
  for (End& end : ends_) open.push_back(std::move(end.queue));
  for (HostWork& work : host_work_) open.push_back(std::move(work.queue));
  while (!open.empty()) {
    const QueuePointer queue = std::move(open.back());
    open.pop_back();
    queue->operations_.clear();
    for (auto& [sequence, waiter] : queue->blocked_) open.push_back(std::move(waiter));
    queue->blocked_.clear();
  }
}

Mark Timeline::Enqueue(const QueuePointer& queue, std::shared_ptr<Work> work,
                       std::vector<Mark> waits, uint64_t duration_ns) {
  if (work != nullptr && work->OnHost()) ++pending_host_work_;
  asked_in_a_row_ = 0;
  NoteOrder(queue.get(), waits);
  std::erase_if(waits, [](const Mark& mark) { return mark.Reached(); });
  Queue::Operation operation = {.work = std::move(work),
                                .appended = {},
                                .waits = std::move(waits),
                                .enqueue_time = now_ns(),
                                .duration = duration_ns,
                                .enqueued_at = real_};
  if (modelled_) Expect(queue.get(), &operation);
  queue->operations_.push_back(std::move(operation));
  ++queue->enqueued_;
  if (queue->operations_.size() == 1) TryStart(queue, now_ns());
  const Mark mark = {queue, queue->enqueued_};
  if (modelled_ && queue->operations_.size() > kFarAhead) HoldBack(queue);
  return mark;
}

void Timeline::NoteOrder(Queue* queue, const std::vector<Mark>& marks) {
  auto& orders = queue->orders_;
  for (const Mark& mark : marks) {
    const Queue* other = mark.queue.get();
    if (other == nullptr || other == queue || mark.sequence == 0) continue;
    const auto known = orders.find(other);
    // A queue that has ended may have had the same address.
    if (known != orders.end() && !known->second.queue.expired()) {
      if (known->second.sequence >= mark.sequence) continue;
    } else {
      std::erase_if(orders, [](const auto& entry) { return entry.second.queue.expired(); });
    }
    orders[other] = {mark.queue, queue->enqueued_ + 1, mark.sequence};
  }
}

bool Timeline::ComesAfter(const QueuePointer& queue, const Mark& mark) {
  if (mark.queue == nullptr) return true;
  std::vector<Mark> open = {{queue, queue->enqueued_ + 1}};
  std::unordered_map<const Queue*, uint64_t> seen;  // up to which sequence
  while (!open.empty()) {
    const Mark at = std::move(open.back());
    open.pop_back();
    if (at.queue == mark.queue && at.sequence >= mark.sequence) return true;
    uint64_t& known = seen[at.queue.get()];
    if (known >= at.sequence) continue;
    known = at.sequence;
    for (const auto& [key, order] : at.queue->orders_) {
      if (order.since > at.sequence) continue;
      if (QueuePointer other = order.queue.lock()) {
        open.push_back({std::move(other), order.sequence});
      }
    }
  }
  return false;
}

// Returns the time at which the mark (a point in a queue) is expected to be reached. The mark must
// not be reached yet.
uint64_t Timeline::ExpectedEnd(const Mark& mark) {
  const Queue& queue = *mark.queue;
  const uint64_t index = mark.sequence - queue.completed_ - 1;
  if (index >= queue.operations_.size()) return 0;
  return queue.operations_[index].expected_end + static_cast<uint64_t>(queue.delay_ns_);
}

// Computes when the operation will end. An engine is assumed to work without pauses.
void Timeline::Expect(Queue* queue, Queue::Operation* operation) {
  if (queue->operations_.empty()) queue->delay_ns_ = 0;
  const Mark before = {QueuePointer(QueuePointer(), queue), queue->enqueued_};
  uint64_t start = std::max(now_ns(), queue->last_end_);
  if (!before.Reached()) start = std::max(start, ExpectedEnd(before));
  for (const Mark& mark : operation->waits) start = std::max(start, ExpectedEnd(mark));
  uint64_t end = start + operation->duration;
  const int engine = operation->work == nullptr ? Work::kNoEngine : operation->work->Engine();
  if (engine >= 0) {
    const auto index = static_cast<size_t>(engine);
    if (index >= engine_dues_.size()) engine_dues_.resize(index + 1);
    engine_dues_[index] = std::max(now_ns(), engine_dues_[index]) + operation->duration;
    end = std::max(end, engine_dues_[index]);
  }
  operation->expected_end = end - static_cast<uint64_t>(queue->delay_ns_);
  RaiseDue(end);
}

// Is called when the first operation of the queue has ended at `end`, which may be earlier or later
// than expected. Shifts the expected ends of the operations behind it.
void Timeline::Correct(Queue* queue, uint64_t end) {
  if (!modelled_) return;
  queue->delay_ns_ = static_cast<int64_t>(end - queue->operations_.front().expected_end);
  RaiseDue(queue->operations_.back().expected_end + static_cast<uint64_t>(queue->delay_ns_));
}

// A real driver accepts about this many launches before the program has to wait.
void Timeline::HoldBack(const QueuePointer& queue) {
  while (queue->operations_.size() > kFarAhead && Step()) {
  }
}

void Timeline::Append(const QueuePointer& queue, std::shared_ptr<Work> work) {
  if (queue->operations_.empty()) {
    work->Run(now_ns());
  } else {
    queue->operations_.back().appended.push_back(std::move(work));
  }
}

uint64_t Timeline::EndOf(const Queue::Operation& operation, uint64_t start) {
  const uint64_t delay = modelled_ ? 0 : kStartMinNs + random_.Below(kStartSpreadNs);
  const int engine = operation.work == nullptr ? Work::kNoEngine : operation.work->Engine();
  if (engine < 0) return start + delay + operation.duration;
  const auto index = static_cast<size_t>(engine);
  if (index >= engine_ends_.size()) engine_ends_.resize(index + 1);
  engine_ends_[index] = std::max(start + delay, engine_ends_[index]) + operation.duration;
  return engine_ends_[index];
}

void Timeline::TryStart(const QueuePointer& queue, uint64_t not_before) {
  if (queue->started_ || queue->operations_.empty()) return;
  Queue::Operation& operation = queue->operations_.front();
  while (!operation.waits.empty()) {
    const Mark& mark = operation.waits.back();
    if (!mark.Reached()) {
      mark.queue->blocked_.emplace_back(mark.sequence, queue);
      return;
    }
    operation.waits.pop_back();
  }
  queue->started_ = true;
  if (operation.work != nullptr && operation.work->OnHost()) {
    host_work_.push_back({operation.work, queue});
    return;
  }
  const uint64_t start = std::max({not_before, operation.enqueue_time, queue->last_end_});
  const uint64_t end = EndOf(operation, start);
  Correct(queue.get(), end);
  ends_.push_back({end, ++order_, queue});
  std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
}

void Timeline::Complete(const QueuePointer& queue, uint64_t time) {
  // The queue may lose its last owner here; `keep` holds it until the end of this function.
  const QueuePointer keep = queue;  // NOLINT(performance-unnecessary-copy-initialization)
  Correct(keep.get(), time);
  const std::shared_ptr<Work> work = std::move(keep->operations_.front().work);
  const std::vector<std::shared_ptr<Work>> appended = std::move(keep->operations_.front().appended);
  keep->operations_.pop_front();
  keep->started_ = false;
  keep->last_end_ = time;
  if (work != nullptr && !work->OnHost()) work->Run(time);
  for (const std::shared_ptr<Work>& more : appended) more->Run(time);
  ++keep->completed_;
  TryStart(keep, time);
  if (keep->blocked_.empty()) return;
  std::vector<std::pair<uint64_t, QueuePointer>> blocked = std::move(keep->blocked_);
  keep->blocked_.clear();
  for (auto& [sequence, waiter] : blocked) {
    if (keep->completed_ >= sequence) {
      TryStart(waiter, time);
    } else {
      keep->blocked_.emplace_back(sequence, std::move(waiter));
    }
  }
}

bool Timeline::StepOne(size_t index) {
  End end = std::move(ends_[index]);
  if (index == 0) {
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    ends_.pop_back();
  } else {
    ends_.erase(ends_.begin() + static_cast<ptrdiff_t>(index));
    std::make_heap(ends_.begin(), ends_.end(), std::greater<>());
  }
  MoveTo(std::max(now_ns(), end.time));
  Complete(end.queue, end.time);
  return true;
}

void Timeline::RunDue() {
  while (!ends_.empty() && ends_.front().time <= now_ns()) {
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    End end = std::move(ends_.back());
    ends_.pop_back();
    Complete(end.queue, end.time);
  }
}

void Timeline::Advance(uint64_t duration_ns) {
  MoveTo(now_ns() + duration_ns);
  if (!adversarial_ && !ends_.empty() && ends_.front().time <= now_ns()) RunDue();
}

void Timeline::JoinTime(uint64_t time_ns) {
  if (time_ns <= now_ns()) return;
  for (uint64_t& end : engine_ends_) end = std::max(end, time_ns);
  for (uint64_t& due : engine_dues_) due = std::max(due, time_ns);
  Advance(time_ns - now_ns());
}

void Timeline::BeginCall(uint64_t real_ns) {
  if (!modelled_ && left_ns_ != 0 && real_ns > left_ns_) {
    const uint64_t passed = real_ns - left_ns_;
    real_.total_ns += passed;
    if (passed >= kPauseNs) real_.paused_ns += passed;
  }
}

// Advances the host's clock to the time when the work was enqueued plus the real time that has
// passed since.
void Timeline::CatchUp(const Mark& mark) {
  const uint64_t index = mark.sequence - mark.queue->completed_ - 1;
  if (adversarial_ || index >= mark.queue->operations_.size()) return;
  const Queue::Operation& asked = mark.queue->operations_[index];
  const uint64_t total = real_.total_ns - asked.enqueued_at.total_ns;
  const uint64_t paused = real_.paused_ns - asked.enqueued_at.paused_ns;
  const uint64_t now = asked.enqueue_time + (total >= kLongAgoNs ? total : paused);
  if (now > now_ns()) Advance(now - now_ns());
}

uint64_t Timeline::NextAskNs() {
  ++asked_in_a_row_;
  if (!modelled_ || asked_in_a_row_ <= kAsksAtOnce) return kAskNs;
  return kAskNs << std::min(asked_in_a_row_ - kAsksAtOnce, kMaxDoublings);
}

bool Timeline::Ask(const Mark& mark) {
  if (mark.Reached()) return true;
  CatchUp(mark);
  if (mark.Reached()) return true;
  Advance(NextAskNs());
  if (adversarial_ && ++asked_ % kAsksPerStep == 0) StepTowards(mark);
  return mark.Reached();
}

bool Timeline::Step() { return !ends_.empty() && StepOne(0); }

// True if `mark` (a point in some queue) can be reached only after the first operation of `queue`
// has ended. Follows the marks that the first operations of queues wait for.
bool Timeline::Needs(const Mark& mark, const Queue* queue) const {
  std::vector<const Queue*> open = {mark.queue.get()};
  std::unordered_set<const Queue*> seen(open.begin(), open.end());
  while (!open.empty()) {
    const Queue* at = open.back();
    open.pop_back();
    if (at == queue) return true;
    if (at->operations_.empty()) continue;
    for (const Mark& wait : at->operations_.front().waits) {
      if (!wait.Reached() && seen.insert(wait.queue.get()).second) open.push_back(wait.queue.get());
    }
  }
  return false;
}

bool Timeline::StepTowards(const Mark& mark) {
  if (!adversarial_) return Step();
  size_t best = ends_.size();
  for (size_t i = 0; i < ends_.size(); ++i) {
    if ((best == ends_.size() || ends_[best] > ends_[i]) && Needs(mark, ends_[i].queue.get())) {
      best = i;
    }
  }
  return best < ends_.size() && StepOne(best);
}

Timeline::HostWork Timeline::PopHostWork() {
  if (host_work_.empty()) return {};
  HostWork work = std::move(host_work_.front());
  host_work_.pop_front();
  return work;
}

void Timeline::FinishHostWork(const QueuePointer& queue) {
  if (queue->operations_.empty()) return;  // the queue was abandoned meanwhile
  --pending_host_work_;
  Complete(queue, now_ns());
}

void Timeline::Abandon(const QueuePointer& queue) {
  const QueuePointer keep = queue;
  std::erase_if(ends_, [&](const End& end) { return end.queue == keep; });
  std::make_heap(ends_.begin(), ends_.end(), std::greater<>());
  for (const Queue::Operation& operation : keep->operations_) {
    if (operation.work != nullptr && operation.work->OnHost()) --pending_host_work_;
  }
  std::erase_if(host_work_, [&](const HostWork& work) { return work.queue == keep; });
  keep->operations_.clear();
  keep->started_ = false;
  keep->completed_ = keep->enqueued_;
  std::vector<std::pair<uint64_t, QueuePointer>> blocked = std::move(keep->blocked_);
  keep->blocked_.clear();
  for (auto& [sequence, waiter] : blocked) TryStart(waiter, now_ns());
}

}  // namespace vramstow::simulator
