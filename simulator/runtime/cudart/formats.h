// Converts between the runtime's channel descriptions and the driver's array formats.
//
// Ownership: values. Threads: pure functions. Errors: returns false if there is no counterpart.
// Units: bits.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_FORMATS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_FORMATS_H_

#include "simulator/runtime/cudart/runtime.h"

namespace vramstow::simulator::cudart {

// Returns cudaErrorInvalidChannelDescriptor if no array can have this description.
cudaError_t ToFormat(const cudaChannelFormatDesc& description, CUarray_format* format,
                     unsigned* channels);
cudaError_t FromFormat(CUarray_format format, unsigned channels,
                       cudaChannelFormatDesc* description);
// Returns the bytes of one channel, or 0 if the format is not a plain number.
size_t ChannelBytes(CUarray_format format);

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_FORMATS_H_
