// Implements tensor maps, which describe a tensor to a kernel's bulk copies. They are made on the
// host and checked as documented; their contents are the simulator's own format, because no device
// code reads them.
#include <cuda.h>
#include <string.h>

#include "simulator/driver/functions.h"

namespace {

constexpr cuuint32_t kRankMax = 5;
constexpr uint64_t kExtentMax = uint64_t{1} << 32;
constexpr uint64_t kStrideMax = uint64_t{1} << 40;
constexpr cuuint32_t kBoxMax = 256;
constexpr cuuint32_t kStepMax = 8;

struct Tensor {
  CUtensorMapDataType type;
  cuuint32_t rank;
  const void* address;
  const cuuint64_t* extents;
  const cuuint64_t* strides;  // rank - 1 of them, in bytes
  const cuuint32_t* steps;
};

CUresult RefusalNow() { return static_cast<CUresult>(vramstow::simulator::RefusalOfAllCalls()); }

// Checks the rules of cuTensorMapEncodeTiled that do not depend on the device.
bool IsRight(const Tensor& tensor) {
  if (tensor.rank == 0 || tensor.rank > kRankMax || tensor.address == nullptr) return false;
  if (tensor.extents == nullptr || tensor.steps == nullptr) return false;
  if (tensor.rank > 1 && tensor.strides == nullptr) return false;
  if (reinterpret_cast<uintptr_t>(tensor.address) % 16 != 0) return false;
  for (cuuint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.extents[i] == 0 || tensor.extents[i] > kExtentMax) return false;
    if (tensor.steps[i] == 0 || tensor.steps[i] > kStepMax) return false;
    if (i + 1 < tensor.rank && (tensor.strides[i] % 16 != 0 || tensor.strides[i] >= kStrideMax)) {
      return false;
    }
  }
  return true;
}

CUresult Encode(CUtensorMap* map, const Tensor& tensor) {
  if (map == nullptr || reinterpret_cast<uintptr_t>(map) % 64 != 0 || !IsRight(tensor)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  memset(map, 0, sizeof(*map));
  const auto address = reinterpret_cast<uintptr_t>(tensor.address);
  memcpy(map->opaque, &address, sizeof(address));
  map->opaque[1] = tensor.rank;
  for (cuuint32_t i = 0; i < tensor.rank; ++i) map->opaque[2 + i] = tensor.extents[i];
  for (cuuint32_t i = 0; i + 1 < tensor.rank; ++i) map->opaque[7 + i] = tensor.strides[i];
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* extents, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  (void)interleave, (void)swizzle, (void)promotion, (void)fill;
  if (RefusalNow() != CUDA_SUCCESS) return RefusalNow();
  const Tensor tensor = {type, rank, address, extents, strides, steps};
  if (box == nullptr || !IsRight(tensor)) return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (box[i] == 0 || box[i] > kBoxMax) return CUDA_ERROR_INVALID_VALUE;
  }
  return Encode(map, tensor);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                 void* address, const cuuint64_t* extents,
                                 const cuuint64_t* strides, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  (void)interleave, (void)swizzle, (void)promotion, (void)fill;
  if (RefusalNow() != CUDA_SUCCESS) return RefusalNow();
  constexpr cuuint32_t kPixelsMax = 1024;
  // As documented, the tensor must have three dimensions or more.
  if (rank < 3 || lower == nullptr || upper == nullptr || channels == 0 || channels > kBoxMax ||
      pixels == 0 || pixels > kPixelsMax) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Encode(map, {type, rank, address, extents, strides, steps});
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  if (RefusalNow() != CUDA_SUCCESS) return RefusalNow();
  const auto number = reinterpret_cast<uintptr_t>(address);
  if (map == nullptr || number == 0 || number % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  memcpy(map->opaque, &number, sizeof(number));
  return CUDA_SUCCESS;
}

}  // extern "C"
