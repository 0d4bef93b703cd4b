// Helps to implement stand-ins that are one table of functions: defines the rows of the table,
// handles, and work that is queued and not computed.
//
// Idea: a function of such a library checks its arguments, then returns the size of its workspace
// or queues a kernel. Its row has the name, the parameters as in NVIDIA's header, and the result. A
// stand-in models order, memory and time, and computes nothing. An adapter may compute PyTorch's
// operators instead (adapters/values). All results that no adapter computes read as zeros and are
// marked as not computed. A read of such a result is reported, and one sentence on stderr says so.
// With any other driver than the simulated one nothing is marked.
//
// Ownership: functions named Create… allocate a handle, and functions named Destroy… free it.
// Threads: one handle is used by one thread at a time; everything else may be used by any thread.
// Errors: returns the library's statuses, 0 for success; memory that cannot be marked does not
// change. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_STAND_IN_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_STAND_IN_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"

// Defines an exported function by its name, its parameters and its result.
#define VRAMSTOW_ROW(name, parameters, ...) \
  extern "C" __attribute__((visibility("default"))) int name parameters { return __VA_ARGS__; }

namespace vramstow::simulator {

// The library's numbers for errors. Each stand-in with a table of functions defines the object of
// this type.
struct StatusCodes {
  int not_initialized;
  int allocation_failed;
  int invalid_value;
  int execution_failed;
};
extern const StatusCodes kCodes;  // NOLINT(readability-identifier-naming): constant

struct Handle {
  const void* magic = &kLibrary;
  CUstream stream = nullptr;
};

// Returns null if `handle` is not a handle of this library.
template <typename Kind = Handle>
Kind* Checked(void* handle) {
  auto* checked = static_cast<Kind*>(handle);
  return checked != nullptr && checked->magic == &kLibrary ? checked : nullptr;
}

// Makes an object that needs no device, for example a descriptor.
template <typename Kind>
int Create(void** object, const Kind& value = {}) {
  if (object == nullptr) return kCodes.invalid_value;
  *object = new (std::nothrow) Kind(value);
  return *object == nullptr ? kCodes.allocation_failed : 0;
}

template <typename Kind = Handle>
int CreateHandle(void** handle) {
  if (handle == nullptr) return kCodes.invalid_value;
  if (EnsureContext() != CUDA_SUCCESS) return kCodes.not_initialized;
  return Create<Kind>(handle);
}

template <typename Kind = Handle>
int Destroy(void* handle, int status = kCodes.not_initialized) {
  Kind* checked = Checked<Kind>(handle);
  if (checked == nullptr) return status;
  checked->magic = nullptr;
  delete checked;
  return 0;
}

int SetStream(void* handle, CUstream stream);
int GetStream(void* handle, CUstream* stream);
int GetVersion(const LibraryVersion& version, int* value);
// `part` is a libraryPropertyType.
int GetProperty(const LibraryVersion& version, int part, int* value);

// The memory that a kernel would write.
struct Result {
  const void* address = nullptr;
  size_t bytes = 0;
};

int LaunchWords(const char* name, CUstream stream, const WorkSize& size,
                std::initializer_list<Result> results, std::initializer_list<uint64_t> words);

template <typename Value>
uint64_t Word(Value value) {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

// Queues kernel `name` with these argument words, and marks its results as not computed. `name`
// lives as long as the process.
template <typename... Values>
int LaunchOf(const char* name, CUstream stream, const WorkSize& size,
             std::initializer_list<Result> results, Values... values) {
  return LaunchWords(name, stream, size, results, {Word(values)...});
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_STAND_IN_H_
