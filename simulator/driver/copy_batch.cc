// Implements copies in batches, and copies with attributes.
//
// Attributes are hints about the order in which sources may be read and about the location of
// memory. They are ignored: reading in stream order is always allowed, and the addresses show the
// location.
#include "simulator/driver/array.h"
#include "simulator/driver/capture.h"
#include "simulator/driver/copy_shapes.h"
#include "simulator/driver/newer_functions.h"

namespace vramstow::simulator {
namespace {

bool IsOrder(CUmemcpySrcAccessOrder order) {
  return order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
         order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
         order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

// If an operation names an array, all its sizes count elements. Returns the bytes of an element, or
// 0 if the operand is not an array.
uint64_t ElementBytes(const CUmemcpy3DOperand& operand) {
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return 0;
  const Array* array = FindArray(operand.op.array.array);
  return array == nullptr ? 0 : BytesOfElement(*array);
}

bool ReadOperand(const CUmemcpy3DOperand& operand, const CUextent3D& extent, uint64_t element,
                 CopySide* side) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const Array* array = FindArray(operand.op.array.array);
    if (array == nullptr) return false;
    const CUoffset3D& at = operand.op.array.offset;
    side->pitch = array->pitch;
    side->slice = array->pitch * array->height;
    const uint64_t offset =
        AddSizes(MultiplySizes(at.z, side->slice), MultiplySizes(at.y, side->pitch));
    side->address = AddSizes(array->address, AddSizes(offset, MultiplySizes(at.x, element)));
    return true;
  }
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER || operand.op.ptr.ptr == 0) return false;
  const auto& pointer = operand.op.ptr;
  // As documented, a row length of 0 means the width of the copied extent, and a layer height of 0
  // means its height.
  const uint64_t row = pointer.rowLength == 0 ? extent.width : pointer.rowLength;
  const uint64_t layer = pointer.layerHeight == 0 ? extent.height : pointer.layerHeight;
  if (row < extent.width || layer < extent.height) return false;
  side->address = pointer.ptr;
  side->pitch = MultiplySizes(row, element);
  side->slice = MultiplySizes(side->pitch, layer);
  return true;
}

CUresult SubmitOperation(Call& call, Stream* stream, const CUDA_MEMCPY3D_BATCH_OP& operation) {
  const CUextent3D& extent = operation.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0 ||
      !IsOrder(operation.srcAccessOrder)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t element =
      std::max<uint64_t>({1, ElementBytes(operation.src), ElementBytes(operation.dst)});
  CopyBox box;
  box.width = MultiplySizes(extent.width, element);
  box.height = extent.height;
  box.depth = extent.depth;
  if (!ReadOperand(operation.src, extent, element, &box.from) ||
      !ReadOperand(operation.dst, extent, element, &box.to)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return SubmitCopy(call, stream, box, CopyMode::kAsynchronous);
}

// As documented, batches and copies with attributes are refused in the legacy stream.
CUresult FindOwnStream(Call& call, CUstream handle, Stream** stream) {
  *stream = FindStream(call, handle);
  return *stream == nullptr || (*stream)->legacy ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync

extern "C" {

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* attribute_indexes,
                               size_t attribute_count, CUstream handle) {
  (void)attributes, (void)attribute_indexes, (void)attribute_count;
  return Serve("cuMemcpyBatchAsync", Needs::kContext, [&](Call& call) {
    if (to == nullptr || from == nullptr || sizes == nullptr || count == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Stream* stream = nullptr;
    CUresult result = FindOwnStream(call, handle, &stream);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; ++i) {
      result =
          SubmitCopy(call, stream, CopyBox::Row(to[i], from[i], sizes[i]), CopyMode::kAsynchronous);
    }
    return result;
  });
}

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* attribute_indexes,
                            size_t attribute_count, size_t* failed, CUstream stream) {
  if (failed != nullptr) *failed = SIZE_MAX;
  return cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, attribute_indexes,
                               attribute_count, stream);
}

CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations,
                                 unsigned long long flags, CUstream handle) {
  return Serve("cuMemcpy3DBatchAsync", Needs::kContext, [&](Call& call) {
    if (operations == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    CUresult result = FindOwnStream(call, handle, &stream);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; ++i) {
      result = SubmitOperation(call, stream, operations[i]);
    }
    return result;
  });
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                              unsigned long long flags, CUstream stream) {
  if (failed != nullptr) *failed = SIZE_MAX;
  return cuMemcpy3DBatchAsync_v2(count, operations, flags, stream);
}

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                     CUmemcpyAttributes* attributes, CUstream handle) {
  return Serve("cuMemcpyWithAttributesAsync", Needs::kContext, [&](Call& call) -> CUresult {
    if (attributes == nullptr || !IsOrder(attributes->srcAccessOrder)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Stream* stream = nullptr;
    const CUresult result = FindOwnStream(call, handle, &stream);
    if (result != CUDA_SUCCESS) return result;
    return SubmitCopy(call, stream, CopyBox::Row(to, from, bytes), CopyMode::kAsynchronous);
  });
}

CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags,
                                       CUstream handle) {
  return Serve("cuMemcpy3DWithAttributesAsync", Needs::kContext, [&](Call& call) -> CUresult {
    if (operation == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = nullptr;
    const CUresult result = FindOwnStream(call, handle, &stream);
    return result != CUDA_SUCCESS ? result : SubmitOperation(call, stream, *operation);
  });
}

}  // extern "C"
