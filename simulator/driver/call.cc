#include "simulator/driver/call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <string_view>

#include "simulator/driver/functions.h"

namespace vramstow::simulator {
namespace {

CUresult CheckContext(const Context* context, Needs needs) {
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return needs == Needs::kContext ? context->sticky : CUDA_SUCCESS;
}

bool IsAnotherThreadExiting(const DriverGlobals& globals) {
  const uint64_t exiting = globals.exiting.load(std::memory_order_relaxed);
  return exiting != 0 && exiting != static_cast<uint64_t>(pthread_self());
}

// With exit=strict the process is aborted here, because the behaviour of a real driver for a call
// during its shutdown is undefined.
void CheckExit(const DriverGlobals& globals) {
  if (!globals.exit_is_strict || !IsAnotherThreadExiting(globals)) return;
  fprintf(stderr,
          "vramstow: the simulated driver was called by another thread while it shuts down.\n");
  abort();
}

}  // namespace

bool EndsBesideThisThread() {
  const DriverGlobals& globals = Globals();
  return globals.shut_down.load(std::memory_order_relaxed) && !globals.exit_is_strict &&
         !globals.forked && IsAnotherThreadExiting(globals);
}

// The fork is checked first: in a forked child it does not matter whether the parent's driver has
// ended.
int RefusalOfAllCalls() {
  const DriverGlobals& globals = Globals();
  if (globals.forked.load(std::memory_order_relaxed)) return CUDA_ERROR_NOT_INITIALIZED;
  if (globals.shut_down.load(std::memory_order_relaxed)) {
    CheckExit(globals);
    return CUDA_ERROR_DEINITIALIZED;
  }
  const bool initialized = globals.initialized.load(std::memory_order_acquire);
  return initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

namespace {

// Reads the clock of this machine if work is pending, and otherwise returns 0. Without pending work
// the result is not needed, and reading the clock is slow compared with a small call.
uint64_t ClockWhileWorkIsPending(const State& state) {
  return state.machine->timeline.IsIdle() ? 0 : RealNanoseconds();
}

}  // namespace

// Earlier checks decide whether the lock is taken, which the lock analysis cannot follow. From here
// to the end of the call, locked_ says whether the lock is held.
Call::Call(const char* name, Needs needs) VRAMSTOW_NO_LOCK_ANALYSIS : globals_(Globals()),
                                                                      state_(globals_.state()),
                                                                      name_(name),
                                                                      profiler_(Profiler()) {
  if (profiler_ != nullptr) Enter();
  const ThreadState& thread = CurrentThread();
  refused_ = static_cast<CUresult>(RefusalOfAllCalls());
  if (refused_ == CUDA_SUCCESS && thread.inside_callback) refused_ = CUDA_ERROR_NOT_PERMITTED;
  if (refused_ != CUDA_SUCCESS) return;

  globals_.mutex.Lock();
  locked_ = true;
  try {
    ++state_.calls;
    state_.machine->timeline.BeginCall(ClockWhileWorkIsPending(state_));
    if (!IsTimedByOperator(*state_.machine)) state_.machine->timeline.Advance(CardModel::kCallNs);
    if (thread.depth > 0) context_ = thread.stack[thread.depth - 1];
    if (needs != Needs::kInit) refused_ = CheckContext(context_, needs);
    if (refused_ == CUDA_SUCCESS && !state_.machine->spec().faults.empty()) refused_ = Fault();
  } catch (...) {
    Unlock();  // the destructor does not run if the constructor throws
    throw;
  }
}

Call::~Call() {
  if (locked_) {
    state_.machine->timeline.EndCall(ClockWhileWorkIsPending(state_));
    PublishTime(*state_.machine);
  }
  if (profiler_ != nullptr) Leave();
  Unlock();
}

void Call::Unlock() VRAMSTOW_NO_LOCK_ANALYSIS {
  if (locked_) globals_.mutex.Unlock();
  locked_ = false;
}

ThreadState& Call::thread() {
  ThreadState& thread = CurrentThread();
  if (thread.id == 0) thread.id = ++state_.next_id;
  return thread;
}

CUresult Call::Fault() {
  CUresult result = CUDA_SUCCESS;
  for (const FaultRule& rule : state_.machine->spec().faults) {
    if (rule.call != name_) continue;
    if (rule.nth == 0) {
      constexpr uint64_t kParts = 1u << 30;
      const auto below = static_cast<uint64_t>(rule.probability * kParts);
      if (state_.machine->random.Below(kParts) < below) result = static_cast<CUresult>(rule.result);
      continue;
    }
    const uint64_t count = ++state_.fault_counts[rule.call];
    const bool now = rule.persistent ? count >= rule.nth : count == rule.nth;
    if (now) result = static_cast<CUresult>(rule.result);
  }
  return result;
}

void Call::Enter() {
  // In a forked child and inside host functions the call is refused, and the profiler is not
  // called.
  if (globals_.forked.load(std::memory_order_relaxed) || CurrentThread().inside_callback) {
    profiler_ = nullptr;
    return;
  }
  profiler_record_.name = name_;
  profiler_record_.per_thread = CurrentThread().per_thread_default ? 1 : 0;
  profiler_record_.device = kUnknownDevice;
  profiler_->enter(&profiler_record_);
}

void Call::Leave() {
  if (context_ != nullptr) {
    profiler_record_.context = reinterpret_cast<CUcontext>(context_);
    profiler_record_.context_id = static_cast<uint32_t>(context_->id);
    if (profiler_record_.device == kUnknownDevice) profiler_record_.device = context_->device;
  }
  if (locked_) profiler_record_.time_ns = state_.machine->timeline.now_ns();
  Unlock();
  profiler_->leave(&profiler_record_);
}

void Call::Note(const Line& line, CUresult result) {
  // A call that was refused before the lock was taken is not logged.
  if (!locked_) return;
  int device = line.device;
  if (device == kUnknownDevice) device = context_ == nullptr ? 0 : context_->device;
  if (profiler_ != nullptr) {
    profiler_record_.result = static_cast<int>(result);
    profiler_record_.device = device;
    if (context_ != nullptr) profiler_record_.context_id = static_cast<uint32_t>(context_->id);
    profiler_->memory(&profiler_record_, line.address, line.bytes);
  }
  if (!state_.machine->call_log.is_open()) return;
  state_.machine->call_log.Write(state_.machine->timeline.now_ns(), device, name_, line.address,
                                 line.bytes, static_cast<int>(result));
}

}  // namespace vramstow::simulator
