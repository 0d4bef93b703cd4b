// Which PyTorchs a command may import, told by where things lie, before it starts.
//
// Idea: an adapter that came compiled with vramstow was never made here, so that no note tells for
// which PyTorch it is. Where Python's start-up hook runs, it asks by itself; under -I, -E and -S it
// does not run, and the adapter has to be named before. No Python is started for that: looked at
// are the package folder in which this vramstow lies, and those beside the command, as in a virtual
// environment.
//
// Ownership: copies. Threads: any. Errors: what is not there is not found. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_NEAR_TORCH_H_
#define VRAMSTOW_TOOLS_LAUNCH_NEAR_TORCH_H_

#include <string>
#include <vector>

namespace vramstow {

// The folders of PyTorchs with CUDA, each once. `program` is this vramstow's own file, `path` the
// value of PATH.
std::vector<std::string> FindTorchOnSearchPath(const std::string& program,
                                               const std::string& command, const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_NEAR_TORCH_H_
