// Implements one-dimensional copies of arrays, which begin at an offset in bytes in the array's
// first row.
#include <cuda.h>

#include "simulator/driver/array.h"
#include "simulator/driver/copy.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

// One end of a copy: an array and an offset, or an address.
struct End {
  CUarray array = nullptr;
  uint64_t offset = 0;
  uint64_t address = 0;
};

CUresult Locate(const End& end, uint64_t bytes, uint64_t* address) {
  *address = end.address;
  if (end.address != 0) return CUDA_SUCCESS;
  const Array* array = FindArray(end.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // The documentation allows only one-dimensional arrays.
  if (array->shape.Height != 0 || array->shape.Depth != 0) return CUDA_ERROR_INVALID_VALUE;
  if (end.offset > array->bytes || bytes > array->bytes - end.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *address = array->address + end.offset;
  return CUDA_SUCCESS;
}

CUresult CopyArrayRow(const char* name, const End& to, const End& from, size_t bytes,
                      CUstream handle, CopyMode mode) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    uint64_t target = 0;
    uint64_t source = 0;
    CUresult result = Locate(to, bytes, &target);
    if (result == CUDA_SUCCESS) result = Locate(from, bytes, &source);
    if (result != CUDA_SUCCESS) return result;
    return SubmitCopy(call, stream, CopyBox::Row(target, source, bytes), mode);
  });
}

End Of(CUarray array, size_t offset) { return {array, offset, 0}; }
End Of(const void* host) { return {nullptr, 0, reinterpret_cast<uintptr_t>(host)}; }
End Of(CUdeviceptr address) { return {nullptr, 0, address}; }

}  // namespace

extern "C" {

CUresult cuMemcpyAtoH(void* to, CUarray from, size_t offset, size_t bytes) {
  return CopyArrayRow("cuMemcpyAtoH", Of(to), Of(from, offset), bytes, nullptr, kNow);
}

CUresult cuMemcpyHtoA(CUarray to, size_t offset, const void* from, size_t bytes) {
  return CopyArrayRow("cuMemcpyHtoA", Of(to, offset), Of(from), bytes, nullptr, kNow);
}

CUresult cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return CopyArrayRow("cuMemcpyAtoD", Of(to), Of(from, offset), bytes, nullptr, kNow);
}

CUresult cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return CopyArrayRow("cuMemcpyDtoA", Of(to, offset), Of(from), bytes, nullptr, kNow);
}

CUresult cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
                      size_t bytes) {
  return CopyArrayRow("cuMemcpyAtoA", Of(to, to_offset), Of(from, from_offset), bytes, nullptr,
                      kNow);
}

CUresult cuMemcpyAtoHAsync(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
  return CopyArrayRow("cuMemcpyAtoHAsync", Of(to), Of(from, offset), bytes, stream, kLater);
}

CUresult cuMemcpyHtoAAsync(CUarray to, size_t offset, const void* from, size_t bytes,
                           CUstream stream) {
  return CopyArrayRow("cuMemcpyHtoAAsync", Of(to, offset), Of(from), bytes, stream, kLater);
}

}  // extern "C"
