// Defines the state behind cuSPARSE's handle and descriptors, and launches the kernels that stand
// for computations.
//
// Idea: names and constants are those of NVIDIA's cusparse.h, restated so that the build needs no
// further headers. A function checks its arguments and queues a kernel. Its results are not
// computed (common/left_out.h). Modelled: buffers have an index of 4 bytes for each row of the
// sparse matrix.
//
// Ownership: cusparseCreate… allocates, cusparseDestroy… frees. Threads: one handle is used by one
// thread at a time, as with cuSPARSE. Errors: Status. Units: elements, or bytes where a name says
// so.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSPARSE_HANDLE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSPARSE_HANDLE_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "simulator/runtime/libraries/common/left_out.h"

#define VRAMSTOW_CUSPARSE extern "C" __attribute__((visibility("default")))

namespace vramstow::simulator {

enum Status {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kExecutionFailed = 6,
  kNotSupported = 10,
};

inline constexpr uint64_t kMagic = 0x65737261'70737563;

struct cusparseContext {  // NOLINT(readability-identifier-naming): the header's name
  uint64_t magic = kMagic;
  CUstream stream = nullptr;
  int pointer_mode = 0;
};

// Returns null if the pointer is not a handle.
cusparseContext* Checked(void* handle);

// Queues kernel `name` with these argument words, and marks its results as not computed.
int LaunchSparse(const cusparseContext& handle, const char* name,
                 std::initializer_list<uint64_t> words, std::initializer_list<Result> results);

inline uint64_t Word(const void* address) { return reinterpret_cast<uint64_t>(address); }
inline uint64_t Word(int64_t number) { return static_cast<uint64_t>(number); }

struct SparseMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t entries = 0;
  void* values = nullptr;
  int type = 0;
  int64_t batches = 1;
  int64_t values_stride = 0;

  Result Values() const;
  size_t BufferBytes() const { return static_cast<size_t>(rows) * sizeof(int32_t); }
};

struct DenseMatrix {
  static constexpr int kByColumn = 1;

  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  void* values = nullptr;
  int type = 0;
  int order = kByColumn;
  int64_t batches = 1;
  int64_t stride = 0;

  Result All() const;
};

struct DenseVector {
  int64_t size = 0;
  void* values = nullptr;
  int type = 0;

  Result All() const;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSPARSE_HANDLE_H_
