// Finds out where a loaded image comes from, which decides whether simulator/kernels/named may
// emulate its kernels.
//
// Idea: an emulation knows how PyTorch lays out a kernel's arguments. The layout changes between
// releases while the kernels' names stay. If an image lies in a library of PyTorch, a file beside
// the library says the release; the kernels of an unknown release do nothing.
//
// Ownership: none. Threads: any. Errors: if the release cannot be found out, the kernels count as
// known.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_IMAGE_ORIGIN_H_
#define VRAMSTOW_SIMULATOR_KERNELS_IMAGE_ORIGIN_H_

#include <string_view>

namespace vramstow::simulator {

// True unless the image lies in a library of a PyTorch whose version file names another release.
bool HasKnownKernels(const void* image);

// True if the text of torch/version.py (or of LibTorch's build-version) names the known release.
bool IsKnownRelease(std::string_view text);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_IMAGE_ORIGIN_H_
