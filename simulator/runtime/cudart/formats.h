// Channel descriptions (the runtime's) and array formats (the driver's).
//
// Ownership: values. Threads: pure functions. Errors: false for what has no counterpart. Units:
// bits.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_FORMATS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_FORMATS_H_

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

// cudaErrorInvalidChannelDescriptor for what no array can hold.
cudaError_t ToFormat(const cudaChannelFormatDesc& description, CUarray_format* format,
                     unsigned* channels);
cudaError_t FromFormat(CUarray_format format, unsigned channels,
                       cudaChannelFormatDesc* description);
// Bytes of one channel; 0 for formats that are no plain numbers.
size_t ChannelBytes(CUarray_format format);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_FORMATS_H_
