#include "simulator/runtime/libraries/cudnn/backend/descriptor.h"

#include <cstring>
#include <utility>

namespace vramstow::simulator {

const Value* Contents::Find(cudnnBackendAttributeName_t name) const {
  auto found = attributes.find(name);
  return found != attributes.end() ? &found->second : nullptr;
}

std::vector<int64_t> Contents::Numbers(cudnnBackendAttributeName_t name) const {
  const Value* value = Find(name);
  if (value == nullptr || value->type != CUDNN_TYPE_INT64) {
    return {};
  }
  std::vector<int64_t> numbers(value->count);
  if (value->count > 0) {
    memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
  }
  return numbers;
}

int64_t Contents::Number(cudnnBackendAttributeName_t name, int64_t otherwise) const {
  const std::vector<int64_t> numbers = Numbers(name);
  return numbers.empty() ? otherwise : numbers[0];
}

ContentsPointer Contents::Reference(cudnnBackendAttributeName_t name) const {
  const Value* value = Find(name);
  return value != nullptr && !value->descriptors.empty() ? value->descriptors[0] : nullptr;
}

void Contents::SetNumber(cudnnBackendAttributeName_t name, int64_t number) {
  Value& value = attributes[name];
  value = {};
  value.type = CUDNN_TYPE_INT64;
  value.count = 1;
  value.bytes.resize(sizeof(number));
  memcpy(value.bytes.data(), &number, sizeof(number));
}

void Contents::SetReference(cudnnBackendAttributeName_t name, ContentsPointer reference) {
  Value& value = attributes[name];
  value = {};
  value.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  value.count = 1;
  value.descriptors.push_back(std::move(reference));
}

Descriptor* AsDescriptor(cudnnBackendDescriptor_t descriptor) {
  auto* candidate = static_cast<Descriptor*>(descriptor);
  return candidate != nullptr && candidate->magic == kDescriptorMagic ? candidate : nullptr;
}

size_t BytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    default:
      // All other types are enumerations, float or int32.
      return type >= CUDNN_TYPE_HANDLE && type <= 32 ? 4 : 0;
  }
}

}  // namespace vramstow::simulator
