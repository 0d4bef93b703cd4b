#include "simulator/runtime/libraries/common/stand_in.h"

#include <library_types.h>

#include <atomic>
#include <cstdio>

#include "simulator/runtime/libraries/common/driver_function.h"
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

// Marks the results of the work `name`, which was just queued on the stream, as not computed.
void LeaveOut(const char* name, CUstream stream, std::initializer_list<Result> results) {
  const SimulatorFunctions& simulator = Simulator();
  if (simulator.append == nullptr || simulator.holds_kernels == nullptr ||
      simulator.shadow == nullptr) {
    return;
  }
  // Nothing is marked if an adapter computes the operator in place of this work, or if the
  // simulated run stores no values.
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

}  // namespace

int SetStream(void* handle, CUstream stream) {
  Handle* checked = Checked(handle);
  if (checked == nullptr) return kCodes.not_initialized;
  checked->stream = stream;
  return 0;
}

int GetStream(void* handle, CUstream* stream) {
  const Handle* checked = Checked(handle);
  if (checked == nullptr) return kCodes.not_initialized;
  if (stream == nullptr) return kCodes.invalid_value;
  *stream = checked->stream;
  return 0;
}

int GetVersion(const LibraryVersion& version, int* value) {
  if (value == nullptr) return kCodes.invalid_value;
  *value = version.major * 1000 + version.minor * 100 + version.patch;
  return 0;
}

int GetProperty(const LibraryVersion& version, int part, int* value) {
  if (value == nullptr || !StoreProperty(version, part, value)) return kCodes.invalid_value;
  return 0;
}

int LaunchWords(const char* name, CUstream stream, const WorkSize& size,
                std::initializer_list<Result> results, std::initializer_list<uint64_t> words) {
  if (LaunchWork(name, stream, size, words.begin(), words.size()) != CUDA_SUCCESS) {
    return kCodes.execution_failed;
  }
  LeaveOut(name, stream, results);
  return 0;
}

}  // namespace vramstow::simulator
