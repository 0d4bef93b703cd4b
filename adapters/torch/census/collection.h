// Collection makes Python's collector free garbage that holds tensors, before an out-of-memory
// error.
//
// Idea: first the garbage is examined, as in a census (garbage.h): if dead cycles hold no device
// memory, nothing is collected. Otherwise Python's own collector runs, with callbacks and
// finalizers. A separate thread runs the collector. The thread that lacks memory waits half a
// second for Python's lock and five seconds for the collection. So it always continues, even if it
// holds a lock for which a finalizer waits. If it holds Python's lock itself, it releases that lock
// during the wait. This is done only if PyTorch called the allocator. If another library called it,
// that library may hold a lock.
//
// Examinations that find nothing, and vain waits for locks, may take five seconds in all, plus a
// twentieth of the run time. A successful collection halves the time that was counted so far.
//
// Ownership: static. Threads: any, without locks of PyTorch's allocator; a caller that comes while
// a collection runs waits for its end. Errors: none reach the caller. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTION_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTION_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "adapters/torch/census/cycles.h"
#include "include/vramstow/framework.h"

namespace vramstow::torch_census {

class Collection {
 public:
  // Checks whether this interpreter and this PyTorch are supported. Returns null, or the reason why
  // nothing will be collected, as the end of a sentence. The caller runs Python.
  const char* Start(const vramstow_framework_collection* table);
  // Stops collecting, because Python ends. Waits for the running collection, two seconds at most.
  // The caller does not hold Python's lock.
  void Stop();

  bool IsPossible();
  // Returns the bytes that were freed.
  uint64_t Collect(int device, bool all);

 private:
  struct Outcome {
    uint64_t number = 0;
    bool all = false;
    bool has_collected = false;
    uint64_t freed_bytes = 0;
    uint64_t duration_ns = 0;
    uint64_t objects = 0;
    std::vector<Cycle> cycles;
  };

  uint64_t CollectWithoutLock(int device, bool all);
  bool Begin(bool all, uint64_t* freed_bytes);
  void Do(bool all);
  Outcome LookAndCollect(bool all) const;
  static bool WaitForPythons();
  bool RunCollector(bool all) const;
  void Report(int device, bool all, const Outcome& outcome) const;

  std::mutex mutex_;  // nothing is called while it is held
  std::condition_variable ended_;
  bool is_stopped_ = true;
  bool is_running_ = false;
  int collecting_ = 0;  // the id of the thread that runs Python's collector
  uint64_t begun_ = 0;
  std::chrono::steady_clock::time_point began_;  // the beginning of the last collection
  Outcome last_;                                 // the result of the last collection that ended
  uint64_t vain_ns_ = 0;
  uint64_t started_ns_ = 0;
  int process_ = 0;  // the process that started it; a forked child has another id
  const vramstow_framework_collection* table_ = nullptr;
  Object* collect_ = nullptr;  // gc.collect
};

Collection& TheCollection();

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_COLLECTION_H_
