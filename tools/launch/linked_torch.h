// Which PyTorch a program is linked to, before it runs.
//
// Idea: a program on LibTorch names the libraries that it needs, and where to look for them, in its
// own file. So the adapter for its PyTorch can be compiled before it starts.
//
// Ownership: copies. Threads: any. Errors: what cannot be read is linked to no PyTorch. Units:
// none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_LINKED_TORCH_H_
#define VRAMSTOW_TOOLS_LAUNCH_LINKED_TORCH_H_

#include <string>

namespace vramstow {

// The folder of the PyTorch with CUDA that `command` is linked to, itself or by its own libraries;
// empty: to none. `path` and `library_path` are the values of PATH and LD_LIBRARY_PATH.
std::string FindLinkedTorch(const std::string& command, const std::string& path,
                            const std::string& library_path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_LINKED_TORCH_H_
