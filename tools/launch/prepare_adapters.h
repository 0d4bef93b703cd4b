// PrepareAdapters: names the compiled adapters to a command before it starts, so that none is
// compiled while it runs.
//
// Idea: the library in the command loads a compiled adapter and never starts a compiler. The file
// of a program that uses LibTorch names its PyTorch, so its adapter is compiled now; for Python,
// the start-up hook compiles it at the first import of torch. All adapters that were compiled here,
// or shipped for a PyTorch that the command may import, are named in VRAMSTOW_TORCH_ADAPTER, all
// observers in VRAMSTOW_TORCH_OBSERVER, all censuses in VRAMSTOW_TORCH_CENSUS and, in a simulated
// run, all libraries that compute values in VRAMSTOW_TORCH_VALUES.
//
// Ownership: the results are copies. Threads: used by one thread at a time; it may take as long as
// a compiler does. Errors: one sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_PREPARE_ADAPTERS_H_
#define VRAMSTOW_TOOLS_LAUNCH_PREPARE_ADAPTERS_H_

#include <string>

#include "tools/launch/environment.h"
#include "tools/launch/installation.h"

namespace vramstow {

// Returns why the adapter for the PyTorch that `command` is linked to cannot be provided. Returns
// an empty text if the adapter is ready, or if the command is linked to no PyTorch.
std::string PrepareAdapters(const Installation& installation, const std::string& command,
                            Environment* environment);
// Does the same as PrepareAdapters for the library that computes values in a simulated run.
std::string PrepareValues(const Installation& installation, const std::string& command,
                          Environment* environment);
// Sets the environment variable that names the compiled observers.
void PrepareObservers(const Installation& installation, const std::string& command,
                      Environment* environment);
// Sets the environment variable that names the compiled libraries of the census (a reference scan).
void PrepareCensuses(const Installation& installation, const std::string& command,
                     Environment* environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_PREPARE_ADAPTERS_H_
