#include "simulator/runtime/libraries/cublaslt/cublaslt_attributes.h"

#include <cstring>

namespace vramstow::simulator {
namespace {

const DescriptorAttribute* Find(std::span<const DescriptorAttribute> table, int id) {
  for (const DescriptorAttribute& attribute : table) {
    if (attribute.id == id) {
      return &attribute;
    }
  }
  return nullptr;
}

}  // namespace

cublasStatus_t SetAttribute(std::span<const DescriptorAttribute> table, void* descriptor, int id,
                            const void* value, size_t size) {
  const DescriptorAttribute* attribute = Find(table, id);
  if (descriptor == nullptr || attribute == nullptr || value == nullptr ||
      size != attribute->size) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  memcpy(static_cast<char*>(descriptor) + attribute->offset, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GetAttribute(std::span<const DescriptorAttribute> table, const void* descriptor,
                            int id, void* value, size_t size, size_t* written) {
  const DescriptorAttribute* attribute = Find(table, id);
  if (descriptor == nullptr || attribute == nullptr || (size == 0 && written == nullptr) ||
      (size != 0 && (value == nullptr || size != attribute->size))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (size != 0) {
    memcpy(value, static_cast<const char*>(descriptor) + attribute->offset, size);
  }
  if (written != nullptr) {
    *written = attribute->size;
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace vramstow::simulator
