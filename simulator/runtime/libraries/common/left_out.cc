#include "simulator/runtime/libraries/common/left_out.h"

#include <atomic>
#include <cstdio>

#include "simulator/runtime/libraries/common/driver_function.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

constexpr size_t kMaxResults = 4;

struct SimulatorFunctions {
  decltype(&vramstowSimulatorAppend) append = nullptr;
  decltype(&vramstowSimulatorHoldsKernels) holds_kernels = nullptr;
  decltype(&vramstowSimulatorShadow) shadow = nullptr;

  SimulatorFunctions() {
    FindDriverFunction("vramstowSimulatorAppend", &append);
    FindDriverFunction("vramstowSimulatorHoldsKernels", &holds_kernels);
    FindDriverFunction("vramstowSimulatorShadow", &shadow);
  }
};

const SimulatorFunctions& Simulator() {
  static const SimulatorFunctions* functions = new SimulatorFunctions;
  return *functions;
}

void SayOnce() {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  char sentence[160];
  snprintf(sentence, sizeof sentence,
           "%s keeps its memory and time here and computes nothing, but for PyTorch's operators; "
           "its results read as zeros.",
           kLibrary.name);
  LogOnStderr(sentence);
}

}  // namespace

void LeaveOut(const char* name, CUstream stream, std::initializer_list<Result> results) {
  const SimulatorFunctions& simulator = Simulator();
  if (simulator.append == nullptr || simulator.holds_kernels == nullptr ||
      simulator.shadow == nullptr) {
    return;
  }
  // An adapter computes the operator in place of this work, or the simulated run stores no values.
  if (simulator.holds_kernels() != 0 || simulator.shadow() == 0) return;
  SayOnce();
  vramstowSimulatorRange ranges[kMaxResults] = {};
  size_t count = 0;
  for (const Result& result : results) {
    if (result.address == nullptr || result.bytes == 0 || count == kMaxResults) continue;
    ranges[count++] = {reinterpret_cast<uint64_t>(result.address), result.bytes,
                       kVramstowSimulatorFills};
  }
  if (count == 0) return;
  vramstowSimulatorTask task = {};
  task.size = sizeof task;
  task.name = name;
  task.ranges = ranges;
  task.range_count = count;
  task.run = [](void*) { return static_cast<int>(kVramstowSimulatorNotComputed); };
  simulator.append(stream, &task);
}

}  // namespace vramstow::simulator
