// FindTorchOnSearchPath: finds the PyTorch installations that a command may import, by their
// location, before it starts.
//
// Idea: a shipped adapter was not compiled on this machine, so no note says for which PyTorch it
// is. Usually Python's start-up hook asks for the adapter. Under -I, -E and -S the hook does not
// run, so the adapter must be named in advance. No Python is started to find the installations. The
// search covers the package folder that contains this vramstow, and those beside the command, as in
// a virtual environment.
//
// Ownership: the results are copies. Threads: callable from any thread. Errors: missing folders are
// skipped. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_NEAR_TORCH_H_
#define VRAMSTOW_TOOLS_LAUNCH_NEAR_TORCH_H_

#include <string>
#include <vector>

namespace vramstow {

// Returns the folders of PyTorch installations with CUDA, each once. `program` is vramstow's own
// file, `path` the value of PATH.
std::vector<std::string> FindTorchOnSearchPath(const std::string& program,
                                               const std::string& command, const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_NEAR_TORCH_H_
