#include "simulator/runtime/cudart/formats.h"

namespace vramstow::simulator::cudart {

namespace {

struct PlainFormat {
  CUarray_format format;
  cudaChannelFormatKind kind;
  int bits;
};

constexpr PlainFormat kPlainFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

}  // namespace

cudaError_t ToFormat(const cudaChannelFormatDesc& description, CUarray_format* format,
                     unsigned* channels) {
  const int bits[] = {description.x, description.y, description.z, description.w};
  unsigned count = 0;
  while (count < 4 && bits[count] != 0) {
    if (bits[count] != bits[0]) {
      return cudaErrorInvalidChannelDescriptor;
    }
    ++count;
  }
  for (unsigned i = count; i < 4; ++i) {
    if (bits[i] != 0) {
      return cudaErrorInvalidChannelDescriptor;
    }
  }
  if (count != 1 && count != 2 && count != 4) {
    return cudaErrorInvalidChannelDescriptor;
  }
  for (const PlainFormat& plain : kPlainFormats) {
    if (plain.kind == description.f && plain.bits == bits[0]) {
      *format = plain.format;
      *channels = count;
      return cudaSuccess;
    }
  }
  return cudaErrorInvalidChannelDescriptor;
}

cudaError_t FromFormat(CUarray_format format, unsigned channels,
                       cudaChannelFormatDesc* description) {
  for (const PlainFormat& plain : kPlainFormats) {
    if (plain.format == format) {
      *description = {plain.bits, channels > 1 ? plain.bits : 0, channels > 2 ? plain.bits : 0,
                      channels > 3 ? plain.bits : 0, plain.kind};
      return cudaSuccess;
    }
  }
  return cudaErrorInvalidChannelDescriptor;
}

size_t ChannelBytes(CUarray_format format) {
  for (const PlainFormat& plain : kPlainFormats) {
    if (plain.format == format) {
      return static_cast<size_t>(plain.bits) / 8;
    }
  }
  return 0;
}

}  // namespace vramstow::simulator::cudart
