// State holds all objects of the simulated driver: the machine, contexts, streams and events.
// DriverGlobals holds the State and its lock.
//
// Idea: handles are addresses of these objects. Each kind of object has a table of its living
// objects, so that a stale handle is refused and never dereferenced. Contexts are never deleted
// (threads may still have them current), only marked dead.
//
// Ownership: State owns everything and is never destroyed, so calls at exit are safe. Threads:
// DriverGlobals::mutex guards a State and all that it leads to. Code that receives a State as an
// argument may use it, because a State is passed only while the lock is held (Serve() in call.h
// takes the lock); the lock analysis checks code that takes the lock itself. Errors: returns a
// CUresult. Units: bytes, virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_STATE_H_
#define VRAMSTOW_SIMULATOR_DRIVER_STATE_H_

#include <cuda.h>

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "simulator/device/machine.h"

namespace vramstow::simulator {

using vramstow::MutexLock;  // for the functions of the C ABI, which are in no namespace

struct Capture;
struct Context;
struct GraphNode;
struct Program;
struct ReadPatch;
struct SharedEvent;

// The living objects of one kind.
template <typename T>
class Handles {
 public:
  bool Has(const void* handle) const { return living_.contains(handle); }
  T* Find(const void* handle) const {
    return Has(handle) ? static_cast<T*>(const_cast<void*>(handle)) : nullptr;
  }
  T* Add(std::unique_ptr<T> object) {
    living_.insert(object.get());
    return object.release();
  }
  void Remove(T* object) {
    living_.erase(object);
    delete object;
  }
  // Register and unregister an object that has another owner.
  void Note(T* object) { living_.insert(object); }
  void Forget(T* object) { living_.erase(object); }
  const std::unordered_set<const void*>& all() const { return living_; }

 private:
  std::unordered_set<const void*> living_;
};

struct Stream {
  Context* context = nullptr;
  QueuePointer queue = Timeline::NewQueue();
  unsigned flags = CU_STREAM_DEFAULT;
  int priority = 0;
  uint64_t id = 0;
  bool legacy = false;
  CUstreamAttrValue window = {};
  CUsynchronizationPolicy policy = CU_SYNC_POLICY_AUTO;
  std::shared_ptr<Capture> capture;        // null unless the stream captures
  std::vector<GraphNode*> capture_fronts;  // nodes that the next captured node depends on

  bool Blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

// A graph may hold an event whose handle was destroyed.
struct Event : public std::enable_shared_from_this<Event> {
  Context* context = nullptr;
  unsigned flags = CU_EVENT_DEFAULT;
  uint32_t id = 0;
  uint64_t records = 0;                    // number of records
  Mark mark;                               // of the latest record
  std::vector<Mark> more;                  // further marks of cuCtxRecordEvent
  std::shared_ptr<uint64_t> time;          // time of the latest record, set when it is reached
  std::shared_ptr<Capture> capture;        // the capture that recorded it, or null
  std::vector<GraphNode*> capture_fronts;  // nodes that precede the captured record
  std::shared_ptr<SharedEvent> shared;     // null unless shared with other processes

  bool Recorded() const { return time != nullptr; }
};

// The pending work of a stream that was destroyed.
struct LeftBehind {
  Mark mark;
  bool blocking = false;  // the legacy stream waits for it
};

struct Context {
  uint64_t id = 0;
  int device = 0;
  unsigned flags = 0;
  unsigned api_version = 3020;
  bool primary = false;
  bool alive = true;
  CUresult sticky = CUDA_SUCCESS;
  std::unique_ptr<Stream> legacy;
  std::unordered_map<uint64_t, std::unique_ptr<Stream>> per_thread;  // by thread
  std::unordered_set<Stream*> streams;  // streams that the application created
  std::vector<LeftBehind> left_behind;  // pending work of destroyed streams
  std::unordered_map<Event*, std::shared_ptr<Event>> events;
  std::unordered_set<Context*> peers;  // contexts whose memory may be used from here
  size_t limits[CU_LIMIT_MAX] = {};
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
};

struct DeviceState {
  Context* primary = nullptr;
  int primary_references = 0;
  unsigned primary_flags = 0;
};

struct State {
  CUresult init_result = CUDA_SUCCESS;
  std::unique_ptr<Machine> machine;
  std::vector<DeviceState> devices;
  Handles<Context> contexts;
  Handles<Stream> streams;
  Handles<Event> events;
  std::vector<std::shared_ptr<Capture>> captures;  // in progress
  uint64_t next_id = 0;
  uint64_t calls = 0;  // calls served; the host thread sees by it whether the application is busy
  std::unordered_map<std::string, uint64_t> fault_counts;
};

// The lock, the State that it guards, and the fields that need no lock. Never destroyed.
class DriverGlobals {
 public:
  State& state() VRAMSTOW_REQUIRES(mutex) { return state_; }

  Mutex mutex;
  ConditionVariable changed;  // host work finished

  std::atomic<bool> initialized{false};
  std::atomic<bool> shut_down{false};
  std::atomic<bool> exit_is_strict{false};
  std::atomic<uint64_t> exiting{0};  // the thread that shuts the driver down; 0: none
  std::atomic<bool> forked{false};
  std::atomic<Tenancy*> tenancy{nullptr};  // null: the GPUs are not shared

 private:
  State state_ VRAMSTOW_GUARDED_BY(mutex);
};

// Data of each thread. It has no destructor, because it is used until the very end of the thread.
inline constexpr int kContextStackMax = 64;
struct ThreadState {
  Context* stack[kContextStackMax];
  int depth;
  uint64_t id;              // 0: not assigned yet
  bool per_thread_default;  // in the current call stream 0 means the thread's own stream
  bool inside_callback;     // a host function or kernel of the application runs here
  CUstreamCaptureMode capture_mode;
  int held_kernels;       // not 0: kernels that this thread launches have no effect
  int trials;             // not 0: this thread's work is only timed
  ReadPatch* read_patch;  // replaces bytes that small copies of this thread read; null: none
};

DriverGlobals& Globals();
// Returns the State to code that runs under the lock and has no State argument, such as kernels and
// the ends of captures.
State& HeldState();
ThreadState& CurrentThread();
// True if this thread is inside an operator of PyTorch that the model times as a whole. Then the
// operator's calls, kernels, fills and copies within a GPU take no time of their own.
bool IsTimedByOperator(const Machine& machine);

// Reads the SPEC and makes the machine. Must be called with the lock held.
CUresult StartMachine(State* state);
// Returns the version of CUDA that the driver reports, also before cuInit.
int SaidCudaVersion();
// True if runtimes get primary contexts without a public function (primary=private), also before
// cuInit.
bool PrimaryIsPrivate();

// Returns the counters that are shared with other processes of the run, or null if the GPUs cannot
// be shared. Needs no lock.
Tenancy* FindTenancy(const Spec& spec);

// Adds an event, which belongs to its context. Removes the handle of an event.
Event* AddEvent(State* state, std::shared_ptr<Event> event);
void RemoveEvent(State* state, Event* event);

// Shows the virtual time to the processes that share the GPUs, if there are any. Must be called
// with the lock held.
void PublishTime(const Machine& machine);

// Returns the monotonic clock of this machine.
uint64_t RealNanoseconds();

// Waits until `mark` is reached. Releases the lock while work runs on the host, so that other
// threads may call the driver meanwhile.
void WaitFor(State* state, const Mark& mark);

// Returns marks (points in queues) such that all work that was submitted to the context so far has
// ended when all of them are reached.
std::vector<Mark> MarksOf(const Context& context);
// Waits for the work of a context. If the context gets a sticky error meanwhile, returns that
// error.
CUresult WaitForContext(State* state, const Context& context);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_STATE_H_
