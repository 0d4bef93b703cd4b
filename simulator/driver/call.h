// Serve and ServeMemory do what every entry point has to do before and after its own work.
//
// Serve(name, needs, body) refuses calls in a forked child, after shutdown, before cuInit, from
// inside a host function, without a context or on a broken one. It takes the lock, advances the
// virtual clock a little, applies fail= rules, reports the call to a profiler, and stops exceptions
// at the C ABI. ServeMemory also writes the line of the call log, before the call returns. Failed
// calls are written to the error log.
//
// Ownership: none. Threads: any; the body runs with the driver's lock held. Errors: returns a
// CUresult.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_CALL_H_
#define VRAMSTOW_SIMULATOR_DRIVER_CALL_H_

#include <mutex>
#include <new>

#include "simulator/driver/log.h"
#include "simulator/driver/state.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {

enum class Needs {
  kInit,        // cuInit has succeeded
  kContext,     // a living context is current, too
  kAnyContext,  // like kContext, but it may be broken
};

// Returns the profiler that receives calls and work (profiler.h), or null.
const vramstowSimulatorProfiler* Profiler();

class Call {
 public:
  Call(const char* name, Needs needs);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  CUresult refused() const { return refused_; }
  const char* name() const { return name_; }
  State& state() { return state_; }
  Machine& machine() { return *state_.machine; }
  // Returns the state of the calling thread, and gives the thread a number if it has none.
  ThreadState& thread();
  // Returns the current context. It is null if there is no current context and the call needs none.
  Context* context() { return context_; }
  int device() { return context_->device; }

  CUresult Wait(const Mark& mark) {
    WaitFor(&state_, mark);
    return context_ == nullptr ? CUDA_SUCCESS : context_->sticky;
  }

  // The fields of the line that the call in progress writes to the call log.
  struct Line {
    int device = kUnknownDevice;  // the device of the current context
    uint64_t address = 0;
    uint64_t bytes = 0;
    bool skip = false;  // the call is not logged
  };
  static constexpr int kUnknownDevice = -2;
  void Note(const Line& line, CUresult result);

  // The record of this call that the profiler receives.
  vramstowSimulatorCall& profiler_record() { return profiler_record_; }
  CUresult Finish(CUresult result) {
    profiler_record_.result = static_cast<int>(result);
    return result;
  }

 private:
  void Enter();
  void Leave();
  CUresult Fault();

  void Unlock();

  DriverGlobals& globals_;
  State& state_;  // accessed only if locked_
  const char* name_;
  CUresult refused_ = CUDA_SUCCESS;
  Context* context_ = nullptr;
  bool locked_ = false;
  const vramstowSimulatorProfiler* profiler_;
  vramstowSimulatorCall profiler_record_ = {};
};

// True if another thread is ending the process. A thread that watches collectives polls work in a
// loop. While another thread ends the process, queries by the watching thread report that the work
// has ended: an error would make that thread end the process with a signal. With exit=strict such a
// query is an error.
bool EndsBesideThisThread();

// True if there is a device of this number.
inline bool IsDevice(Call& call, int device) {
  return device >= 0 && device < call.machine().devices();
}

inline CUresult ToDriver(Result result) { return static_cast<CUresult>(result); }

template <typename Body>
CUresult Serve(const char* name, Needs needs, Body&& body) noexcept {
  CUresult result = CUDA_SUCCESS;
  try {
    Call call(name, needs);
    result = call.Finish(call.refused() != CUDA_SUCCESS ? call.refused() : body(call));
  } catch (const std::bad_alloc&) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    result = CUDA_ERROR_UNKNOWN;
  }
  if (result != CUDA_SUCCESS) LogFailure(name, result);
  return result;
}

// Serves a call that allocates or frees memory. In addition to what Serve does, the call is always
// written to the call log, even if it fails. The body fills in the line.
template <typename Body>
CUresult ServeMemory(const char* name, Needs needs, Call::Line line, Body&& body) noexcept {
  CUresult result = CUDA_SUCCESS;
  try {
    Call call(name, needs);
    result = call.refused();
    if (result == CUDA_SUCCESS) {
      try {
        result = body(call, line);
      } catch (const std::bad_alloc&) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
      }
    }
    if (!line.skip) call.Note(line, result);
    result = call.Finish(result);
  } catch (...) {
    result = CUDA_ERROR_UNKNOWN;
  }
  if (result != CUDA_SUCCESS) LogFailure(name, result);
  return result;
}

// Returns the stream of a handle, considering the per-thread flag of the call in progress; null if
// this process has no such stream.
Stream* FindStream(Call& call, CUstream handle);

// While this object lives, stream 0 means the calling thread's own default stream. The per-thread
// form of an entry point creates such an object and then calls the plain form.
class PerThreadDefault {
 public:
  PerThreadDefault() : before_(CurrentThread().per_thread_default) {
    CurrentThread().per_thread_default = true;
  }
  ~PerThreadDefault() { CurrentThread().per_thread_default = before_; }
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;

 private:
  bool before_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_CALL_H_
