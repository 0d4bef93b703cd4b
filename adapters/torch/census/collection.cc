#include "adapters/torch/census/collection.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "adapters/torch/census/callers.h"
#include "adapters/torch/census/collector.h"
#include "adapters/torch/census/deadline.h"
#include "adapters/torch/census/garbage.h"
#include "adapters/torch/census/generations.h"
#include "adapters/torch/census/interpreter.h"
#include "adapters/torch/census/live_bytes.h"
#include "adapters/torch/census/quiet.h"
#include "adapters/torch/census/with_python.h"

namespace vramstow::torch_census {
namespace {

using std::chrono::milliseconds;

// Python passes its lock on to another thread every 5 ms. The limit is much longer, because other
// processes may use the processors, too.
constexpr milliseconds kPatienceForLock(500);
constexpr milliseconds kLongest(5000);
constexpr milliseconds kLongestAtEnd(2000);
constexpr uint64_t kOtherNs = 200'000'000;
constexpr uint64_t kLookNs = 1'000'000'000;
constexpr uint64_t kFreeVainNs = 5'000'000'000;
constexpr uint64_t kVainPartOfTime = 20;

// If this thread holds Python's lock, releases it while the object exists.
class WithoutPython {
 public:
  explicit WithoutPython(bool has_lock) : thread_(has_lock ? PyEval_SaveThread() : nullptr) {}
  ~WithoutPython() {
    if (thread_ != nullptr) PyEval_RestoreThread(thread_);
  }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  PyThreadState* const thread_;
};

// Returns the bytes that were freed. If other threads have used freed memory again before this
// count, the result is the memory of the dead objects, but no more than all memory that was freed.
uint64_t FreedSince(const AllocatorBytes& before, uint64_t dead_bytes) {
  const AllocatorBytes after = AskAllocator();
  const uint64_t less = before.live > after.live ? before.live - after.live : 0;
  const uint64_t freed = after.freed > before.freed ? after.freed - before.freed : 0;
  return std::max(less, std::min(dead_bytes, freed));
}

}  // namespace

Collection& TheCollection() {
  static auto* collection = new Collection;
  return *collection;
}

const char* Collection::Start(const vramstow_framework_collection* table) {
  Interpreter::Look();
  if (!Interpreter::has_frames() || !Generations::Look()) {
    return "it knows CPython 3.9 to 3.13, and this is another one";
  }
  if (!Collector::Look()) return "the functions of the module gc are not Python's own";
  if (!Graph::Look()) return "this PyTorch is built in another way";
  Object* module = PyImport_ImportModule("gc");
  Object* collect = module == nullptr ? nullptr : PyObject_GetAttrString(module, "collect");
  if (collect == nullptr || collect->type != &PyCFunction_Type) {
    PyErr_Clear();
    return "gc.collect is not Python's own";
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  table_ = table;
  collect_ = collect;
  started_ns_ = NowNs();
  process_ = getpid();
  is_stopped_ = false;
  return nullptr;
}

// Does nothing in a forked child, where a thread that does not exist may hold the lock.
void Collection::Stop() {
  if (process_ != getpid()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  is_stopped_ = true;
  ended_.wait_for(lock, kLongestAtEnd, [this] { return !is_running_; });
}

// Returns false inside a finalizer that allocates memory. A finalizer must not wait for a
// collection, because the collection is running the finalizer.
bool Collection::IsPossible() {
  if (Interpreter::is_ending() || process_ != getpid()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  return !is_stopped_ && collecting_ != gettid() &&
         vain_ns_ <= kFreeVainNs + (NowNs() - started_ns_) / kVainPartOfTime;
}

uint64_t Collection::Collect(int device, bool all) {
  if (!IsPossible()) return 0;
  const bool has_lock = HasPythonsLock();
  try {
    if (has_lock && !Callers::AreFrameworkOnly(reinterpret_cast<const void*>(table_->tell))) {
      return 0;
    }
    const WithoutPython without(has_lock);
    return CollectWithoutLock(device, all);
  } catch (const std::exception&) {
    return 0;  // no memory on the host
  }
}

uint64_t Collection::CollectWithoutLock(int device, bool all) {
  uint64_t freed_bytes = 0;
  if (!Begin(all, &freed_bytes)) return freed_bytes;
  const uint64_t begin_ns = NowNs();
  const AllocatorBytes before = AskAllocator();
  Asked asked = Asked::kNotHad;
  try {
    asked = AskPython(kPatienceForLock, kLongest, [this, all] { Do(all); });
  } catch (const std::exception&) {  // no memory on the host
  }
  // If Python's lock was not free in time, the thread that held the lock may have run the program's
  // own collection. So memory that was freed in the meantime counts.
  Outcome outcome;
  if (asked != Asked::kDone) outcome.freed_bytes = FreedSince(before, 0);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (asked == Asked::kDone) outcome = last_;
    if (asked == Asked::kNotHad) is_running_ = false;
    if (outcome.freed_bytes == 0) {
      vain_ns_ += NowNs() - begin_ns;
    } else {
      vain_ns_ /= 2;
    }
  }
  if (asked == Asked::kNotHad) ended_.notify_all();
  if (outcome.has_collected) Report(device, all, outcome);
  return outcome.freed_bytes;
}

// Waits for the collection that is running. Returns true if the caller has to run a new one. No new
// collection is needed if the running one freed memory. No new one is needed, either, if a
// collection began after this call and freed nothing, because another one would free nothing.
bool Collection::Begin(bool all, uint64_t* freed_bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t arrived = begun_;
  const auto deadline = began_ + kPatienceForLock + kLongest;
  while (is_running_) {
    const uint64_t number = last_.number;
    const auto has_changed = [this, number] { return !is_running_ || last_.number != number; };
    if (!ended_.wait_until(lock, deadline, has_changed)) return false;
    if (last_.number == number) continue;
    *freed_bytes = last_.freed_bytes;
    if (last_.freed_bytes != 0) return false;
    if (last_.number > arrived && (last_.all || !all)) return false;
  }
  if (is_stopped_) return false;
  is_running_ = true;
  began_ = std::chrono::steady_clock::now();
  ++begun_;
  return true;
}

// Runs in a separate thread, which holds Python's lock.
void Collection::Do(bool all) {
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    collecting_ = gettid();
    number = begun_;
  }
  Outcome outcome;
  try {
    outcome = LookAndCollect(all);
  } catch (const std::exception&) {  // no memory on the host
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = std::move(outcome);
    last_.number = number;
    last_.all = all;
    collecting_ = 0;
    is_running_ = false;
  }
  ended_.notify_all();
}

Collection::Outcome Collection::LookAndCollect(bool all) const {
  Outcome outcome;
  const uint64_t begin_ns = NowNs();
  if (Interpreter::is_ending()) return outcome;
  // A program that has disabled Python's collector does not expect that finalizers run at any time.
  if (!Collector::is_on() && table_->is_asked_for() == 0) return outcome;
  AllocatorBytes before = AskAllocator();
  if (WaitForPythons()) {
    outcome.freed_bytes = FreedSince(before, 0);
    if (outcome.freed_bytes != 0) return outcome;
  }
  uint64_t dead_bytes = 0;
  {
    const Quiet quiet;
    constexpr int kYoung = 2;
    const Garbage garbage(all ? Generations::kCount : kYoung, Deadline(kLookNs));
    Cycles cycles(garbage.dead());
    if (garbage.is_complete() && cycles.bytes() == 0) return outcome;
    // If the garbage could not be examined in time, it is collected anyway, but only in a full
    // collection.
    if (!garbage.is_complete() && !all) return outcome;
    outcome.objects = garbage.dead().size();
    outcome.cycles = cycles.Largest();
    dead_bytes = cycles.bytes();
  }
  before = AskAllocator();
  outcome.has_collected = RunCollector(all);
  outcome.freed_bytes = FreedSince(before, dead_bytes);
  outcome.duration_ns = NowNs() - begin_ns;
  return outcome;
}

// Waits until a garbage collection that Python itself has begun is over, but only for a limited
// time (kOtherNs). During that collection the objects that Python examines are in no list, so they
// cannot be found, and Python begins no second collection. The wait is limited because the thread
// that collects may be the one that waits: the collection can run code that requests memory.
// Returns false if there is no such collection.
bool Collection::WaitForPythons() {
  if (!Generations::AreCollected()) return false;
  const uint64_t deadline_ns = NowNs() + kOtherNs;
  while (Generations::AreCollected() && NowNs() < deadline_ns) {
    constexpr int kPauseUs = 1000;
    const WithoutPython without(true);
    usleep(kPauseUs);
  }
  return true;
}

bool Collection::RunCollector(bool all) const {
  Object* result = PyObject_CallFunction(collect_, "i", all ? 2 : 1);
  if (result == nullptr) {
    PyErr_Clear();
    return false;
  }
  Py_DecRef(result);
  return true;
}

void Collection::Report(int device, bool all, const Outcome& outcome) const {
  const vramstow_framework_collection_about about = {device, all ? 1 : 0, outcome.freed_bytes,
                                                     outcome.duration_ns, outcome.objects};
  if (table_->tell(&about) != VRAMSTOW_OK) return;
  for (const Cycle& cycle : outcome.cycles) {
    const vramstow_framework_holding holding = {
        VRAMSTOW_ROLE_OTHER, cycle.device,        0,
        cycle.bytes,         cycle.chain.c_str(), cycle.about.c_str()};
    table_->tell_cycle(&holding);
  }
}

}  // namespace vramstow::torch_census
