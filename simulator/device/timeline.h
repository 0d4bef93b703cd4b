// Timeline runs queues of pending work on a virtual clock.
//
// Idea: a small discrete-event simulation. A queue is a stream: its operations run in order. A mark
// is a point in a queue. An operation starts when it is the first of its queue and all marks that
// it waits for are reached, takes its duration, and has its effect at the end, never at enqueue.
// The host has a clock of its own that advances a little with each call (Advance); operations that
// end before the host's time have taken effect. Waiting advances the host's clock to the end of the
// awaited operation. Start delays drawn from the seed choose among the legal orders. In adversarial
// order an operation ends as late as possible: only if the program waits for it, or waits for work
// that needs it, or queries such work repeatedly.
//
// Real time counts if the program queries whether work has ended, because on a GPU the work would
// end while a program loads data or sleeps. Of the time since the work was enqueued, only pauses of
// a millisecond or more between calls count at first; after 20 ms all of it counts. So if a program
// makes one call right after the other, the result of the query follows from its calls alone, and
// is the same in each run. The time that the simulator itself computes does not count.
//
// With a model's clock (clock=model) an operation takes the time that a GPU would take and starts
// as soon as it can; real time does not count. A program that is far ahead of its GPU waits, as on
// a GPU. When an operation is enqueued, the timeline computes when it will end (due_ns), from the
// operations before it and those that it waits for. If a program queries again and again whether
// work has ended, and submits no work meanwhile, each query waits longer than the one before, up to
// a limit.
//
// Operations on the host (callbacks) run on another thread, in real time: the timeline hands them
// out with PopHostWork and continues that queue when FinishHostWork is called.
//
// Ownership: a queue is shared by its stream, the marks that name it, and the timeline while
// operations are pending in it; work is shared with graphs. Threads: the caller holds the driver's
// lock for every call; Run() is called with it held. Errors: none; work that fails reports it to
// its context. Units: virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_TIMELINE_H_
#define VRAMSTOW_SIMULATOR_DEVICE_TIMELINE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "simulator/device/random.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {

// The effect of an operation. It does not change once it is enqueued, because graphs enqueue the
// same work many times.
class Work {
 public:
  virtual ~Work() = default;
  // Carries out the effect, at the virtual time when the operation ends.
  virtual void Run(uint64_t time_ns) = 0;
  virtual uint64_t DurationNs() const { return 0; }
  virtual bool OnHost() const { return false; }
  // Host work that only waits is not run, so that it occupies no thread. Instead the result of
  // MakePoll is called with the lock held, again and again, until it returns true. It is empty for
  // other work.
  using Poll = std::function<bool()>;
  virtual Poll MakePoll() { return {}; }
  // Returns the engine that runs this work. An engine is a part of the machine, such as a GPU's
  // copy engine for one direction; it runs the work of all queues one after the other. A negative
  // number means no engine.
  virtual int Engine() const { return kNoEngine; }
  static constexpr int kNoEngine = -1;
  // The engines of a GPU, in this order.
  enum class Part : uint8_t { kToHost, kToDevice, kKernels, kCollectives };
  static int EngineOf(int device, Part part) { return 4 * device + static_cast<int>(part); }
  // Adds the ranges of memory that the work reads or writes, as far as they are known.
  virtual void AddUses(std::vector<vramstowSimulatorRange>* /*uses*/) const {}
};

class Queue;
using QueuePointer = std::shared_ptr<Queue>;

// A point in a queue that is reached when the queue's first `sequence` operations have ended. A
// mark without a queue is always reached.
struct Mark {
  QueuePointer queue;
  uint64_t sequence = 0;
  bool Reached() const;
};

// The real time since the start of the run that the virtual clock counts.
struct RealTime {
  uint64_t total_ns = 0;
  uint64_t paused_ns = 0;  // the part of total_ns in pauses between calls
};

class Queue {
 public:
  uint64_t enqueued() const { return enqueued_; }
  uint64_t completed() const { return completed_; }
  bool idle() const { return enqueued_ == completed_; }

 private:
  friend class Timeline;
  struct Operation {
    std::shared_ptr<Work> work;  // null: the operation only takes time
    std::vector<std::shared_ptr<Work>> appended;
    std::vector<Mark> waits;
    uint64_t enqueue_time = 0;
    uint64_t duration = 0;
    uint64_t expected_end = 0;  // without delay_ns_ of the queue
    RealTime enqueued_at;       // real time at the enqueue
  };

  // Operations of this queue from `since` on come after the first `sequence` ones of `queue`.
  struct Order {
    std::weak_ptr<Queue> queue;
    uint64_t since = 0;
    uint64_t sequence = 0;
  };

  std::deque<Operation> operations_;
  std::unordered_map<const Queue*, Order> orders_;          // the latest one for each other queue
  std::vector<std::pair<uint64_t, QueuePointer>> blocked_;  // queues that wait for a sequence here
  uint64_t enqueued_ = 0;
  uint64_t completed_ = 0;
  uint64_t last_end_ = 0;
  int64_t delay_ns_ = 0;  // how much later its operations end than expected
  bool started_ = false;  // the first operation has an end time, or runs on the host
};

class Timeline {
 public:
  Timeline(uint64_t seed, bool adversarial, bool modelled = false)
      : random_(seed), adversarial_(adversarial), modelled_(modelled) {}
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Returns the virtual time of the host. May be called without the lock.
  uint64_t now_ns() const { return now_.load(std::memory_order_relaxed); }
  // Returns when all work that was enqueued so far will have ended, or the current time if that is
  // later. Used only with clock=model. The result never decreases. May be called without the lock.
  uint64_t due_ns() const { return std::max(now_ns(), due_.load(std::memory_order_relaxed)); }
  static QueuePointer NewQueue() { return std::make_shared<Queue>(); }

  // Appends work that waits for `waits` and for the earlier operations of the queue. `duration_ns`
  // does not include the start delay.
  Mark Enqueue(const QueuePointer& queue, std::shared_ptr<Work> work, std::vector<Mark> waits,
               uint64_t duration_ns);

  // Notes that later operations of the queue come after these marks, which may be reached already.
  // Enqueue does the same for the marks that its operation waits for.
  static void NoteOrder(Queue* queue, const std::vector<Mark>& marks);
  // True if marks that operations of `queue` waited for, or that they will wait for, show that the
  // next operation comes after `mark`. The answer may be false although older marks showed it.
  static bool ComesAfter(const QueuePointer& queue, const Mark& mark);

  // Makes `work` a part of the last operation of the queue: it runs right after that one, takes no
  // time of its own and changes no order. Runs it at once if no operation is pending in the queue.
  // Not allowed for host work.
  void Append(const QueuePointer& queue, std::shared_ptr<Work> work);

  // Advances the host's clock; operations that end by then take effect.
  void Advance(uint64_t duration_ns);

  // Advances the host's clock to `time_ns`, if that is later. Work that has not started by now
  // starts after that time where it needs an engine. Used only with clock=model.
  void JoinTime(uint64_t time_ns);

  // True if no work is pending. In this state, the time until the next call does not count.
  bool IsIdle() const { return ends_.empty() && pending_host_work_ == 0; }
  // BeginCall and EndCall enclose the time that the program spends in a call. `real_ns` is the time
  // of a real clock of the machine, or 0 if the timeline was idle at that moment.
  void BeginCall(uint64_t real_ns);
  void EndCall(uint64_t real_ns) { left_ns_ = real_ns; }

  // Returns whether `mark` is reached. Each query advances the clock, so that a program that polls
  // makes progress.
  bool Ask(const Mark& mark);

  // Lets one operation end (in adversarial order, one that `mark` needs). Returns false if no
  // operation can end, because none is left or because a function on the host thread must end
  // first.
  bool StepTowards(const Mark& mark);

  // Lets the running operation with the earliest end finish. Returns false if no operation is
  // running.
  bool Step();

  // Work that the host thread can run now; `work` is null if there is none.
  struct HostWork {
    std::shared_ptr<Work> work;
    QueuePointer queue;
  };
  HostWork PopHostWork();
  void FinishHostWork(const QueuePointer& queue);

  // Number of host operations that are enqueued and not finished.
  uint64_t pending_host_work() const { return pending_host_work_; }

  // Drops all pending operations of the queue, as the end of a context does.
  void Abandon(const QueuePointer& queue);

 private:
  struct End {
    uint64_t time;
    uint64_t order;
    QueuePointer queue;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  void MoveTo(uint64_t now) { now_.store(now, std::memory_order_relaxed); }
  void HoldBack(const QueuePointer& queue);
  void CatchUp(const Mark& mark);
  uint64_t NextAskNs();
  static uint64_t ExpectedEnd(const Mark& mark);
  void Expect(Queue* queue, Queue::Operation* operation);
  void Correct(Queue* queue, uint64_t end);
  void RaiseDue(uint64_t due) {
    if (due > due_.load(std::memory_order_relaxed)) due_.store(due, std::memory_order_relaxed);
  }
  uint64_t EndOf(const Queue::Operation& operation, uint64_t start);
  void TryStart(const QueuePointer& queue, uint64_t not_before);
  void Complete(const QueuePointer& queue, uint64_t time);
  void RunDue();
  bool Needs(const Mark& mark, const Queue* queue) const;
  bool StepOne(size_t index);

  Random random_;
  bool adversarial_;
  bool modelled_;
  std::atomic<uint64_t> now_{0};
  std::atomic<uint64_t> due_{0};
  uint64_t order_ = 0;
  uint64_t asked_ = 0;
  uint64_t asked_in_a_row_ = 0;  // unsuccessful queries since work was last enqueued
  uint64_t pending_host_work_ = 0;
  RealTime real_;
  uint64_t left_ns_ = 0;               // when the last call ended; 0: there was none
  std::vector<uint64_t> engine_ends_;  // by engine: the end of its latest work
  std::vector<uint64_t> engine_dues_;  // by engine: the end of all its work, without pauses
  std::vector<End> ends_;              // a heap, earliest first
  std::deque<HostWork> host_work_;
};

inline bool Mark::Reached() const { return queue == nullptr || queue->completed() >= sequence; }

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_TIMELINE_H_
