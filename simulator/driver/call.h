// The way in: what every entry point does before and after its own part.
//
// Serve(name, needs, body) refuses calls in a forked child, after shutdown, before cuInit, from
// inside a host function, without a context or on a broken one; takes the lock, lets a little
// virtual time pass, applies fail= rules, tells a profiler of the call, and keeps exceptions from
// leaving the C ABI. ServeMemory also writes the line of the call log, before the call returns.
// What failed goes to the error log.
//
// Ownership: none. Threads: any; the body runs with the driver's lock held. Errors: CUresult.
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
  kContext,     // and a living context is current
  kAnyContext,  // a context, broken or not
};

// Who is told of calls and work (profiler.h), or null.
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
  // The calling thread, with its number.
  ThreadState& thread();
  // The current context; null if the call needs none and there is none.
  Context* context() { return context_; }
  int device() { return context_->device; }

  CUresult Wait(const Mark& mark) {
    WaitFor(&state_, mark);
    return context_ == nullptr ? CUDA_SUCCESS : context_->sticky;
  }

  // One line of the call log, of the call in progress or of `name`.
  struct Line {
    int device = kUnknownDevice;  // the current context's
    uint64_t address = 0;
    uint64_t bytes = 0;
    bool skip = false;  // this call turned out to be none that the log knows
  };
  static constexpr int kUnknownDevice = -2;
  void Note(const Line& line, CUresult result);

  // What a profiler is told of this call.
  vramstowSimulatorCall& told() { return told_; }
  CUresult Finish(CUresult result) {
    told_.result = static_cast<int>(result);
    return result;
  }

 private:
  void Enter();
  void Leave();
  CUresult Fault();

  void Unlock();

  DriverGlobals& globals_;
  State& state_;  // not touched unless locked_
  const char* name_;
  CUresult refused_ = CUDA_SUCCESS;
  Context* context_ = nullptr;
  bool locked_ = false;
  const vramstowSimulatorProfiler* profiler_;
  vramstowSimulatorCall told_ = {};
};

// Whether another thread is ending the process. A thread that watches collectives asks in a loop
// whether work has ended, and is told so then: an error would make it end the process with a
// signal. With exit=strict it is an error.
bool EndsBesideThisThread();

// Whether there is a device of this number.
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

// As Serve, for a call that gives or takes memory: the call log gets a line whatever comes of it.
// The body fills in what it learns.
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

// The stream that a handle means, with the per-thread flag of the call in progress. Null: no such
// stream in this process.
Stream* FindStream(Call& call, CUstream handle);

// The per-thread variants of entry points run their plain twin inside this.
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
