// FindTorchOnSearchPath: finds the PyTorch installations that a command may import, by their
// location, before it starts.
//
// Idea: there is no note that says for which PyTorch a shipped adapter is, because it was not
// compiled here. Python's start-up hook asks for it itself; but under -I, -E and -S the hook does
// not run, and the adapter has to be named in advance. No Python is started for that: the search
// covers the package folder that contains this vramstow, and those beside the command, as in a
// virtual environment.
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
