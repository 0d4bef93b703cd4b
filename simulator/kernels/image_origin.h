// Where a loaded image comes from: whether simulator/kernels/named may take its kernels for those
// it knows.
//
// Idea: an effect knows how PyTorch lays out a kernel's arguments, and that changes between
// releases while the kernels' names stay. An image that lies in a library of a PyTorch says which
// release it belongs to; of a release that the effects were not written for, kernels do nothing.
//
// Ownership: none. Threads: any. Errors: what cannot be found out is taken to be known.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_IMAGE_ORIGIN_H_
#define VRAMSTOW_SIMULATOR_KERNELS_IMAGE_ORIGIN_H_

#include <string_view>

namespace vramstow::simulator {

// Reads the file that says a PyTorch's release, if the image lies in a library of one.
bool HasKnownKernels(const void* image);

// Whether the text of torch/version.py (or of LibTorch's build-version) names a known release.
bool IsKnownRelease(std::string_view text);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_IMAGE_ORIGIN_H_
