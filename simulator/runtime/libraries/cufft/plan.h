// Defines the plans behind cuFFT's handles, and executes them.
//
// Modelled: a plan's work area is as large as its data set in complex values, rounded up to 512
// bytes (the documentation says "the size of the work area depends on the transform"). It is
// allocated with the plan unless the application provides one.
//
// Ownership: a table of plans that lives as long as the process. Threads: any, as with cuFFT.
// Errors: Status; 0 for success. Units: elements, and bytes where a name says so.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_PLAN_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_PLAN_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace vramstow::simulator {

enum Status {
  kInvalidPlan = 1,
  kAllocFailed = 2,
  kInvalidType = 3,
  kInvalidValue = 4,
  kExecFailed = 6,
  kSetupFailed = 7,
  kInvalidSize = 8,
  kNotSupported = 16,
};

inline constexpr int kMaxDimensions = 3;

// The layout of the input or the output. `stride` is the distance between neighbours in the last
// dimension, `embed` the number of elements in each dimension (embed[0] is not used), and
// `distance` the distance between batches.
struct Side {
  int64_t embed[kMaxDimensions] = {};
  int64_t stride = 1;
  int64_t distance = 0;
  int type = 0;  // a cudaDataType
};

// A transform as it was requested. After Complete, it is the transform that is executed.
struct Geometry {
  int dimensions = 1;
  int64_t size[kMaxDimensions] = {1, 1, 1};
  int64_t batch = 1;
  bool is_dense = true;  // no layout was given; in place, real rows are padded to complex rows
  Side in;
  Side out;

  int64_t Elements() const { return size[0] * size[1] * size[2]; }
  // Checks types and sizes, and sets the layout of dense data.
  int Complete();
  size_t AreaBytes() const;
  // Returns the bytes from the first element of the output's first batch to the end of its last
  // batch. `in_place` means that the input is the same memory.
  size_t OutputBytes(bool in_place) const;
};

struct Plan {
  bool made = false;
  bool allocates = true;
  CUstream stream = nullptr;
  CUdeviceptr own_area = 0;
  size_t area_bytes = 0;
  Geometry geometry;
};

int CreatePlan(int* handle);
int DestroyPlan(int handle);
// Calls action(plan) while the table is locked. Returns kInvalidPlan if there is no such plan.
int WithPlan(int handle, const std::function<int(Plan*)>& action);
int MakePlan(int handle, Geometry geometry, size_t* area_bytes);
int Execute(int handle, const void* input, void* output, int direction);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_PLAN_H_
