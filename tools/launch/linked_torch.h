// FindLinkedTorch: finds the PyTorch that a program is linked to, before the program runs.
//
// Idea: the file of a program that uses LibTorch names the libraries that it needs, and the folders
// to search for them. So the adapter for its PyTorch can be compiled before the program starts.
//
// Ownership: the results are copies. Threads: callable from any thread. Errors: a file that cannot
// be read is linked to no PyTorch. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_LINKED_TORCH_H_
#define VRAMSTOW_TOOLS_LAUNCH_LINKED_TORCH_H_

#include <string>

namespace vramstow {

// Returns the folder of the PyTorch with CUDA that `command` is linked to, directly or through its
// own libraries; empty if there is none. `path` and `library_path` are the values of PATH and
// LD_LIBRARY_PATH.
std::string FindLinkedTorch(const std::string& command, const std::string& path,
                            const std::string& library_path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_LINKED_TORCH_H_
