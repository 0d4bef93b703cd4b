// What a command gets of adapters before it starts, so that none is compiled while it runs.
//
// Idea: the library in the command loads an adapter that is ready and never starts a compiler. A
// program on LibTorch says in its own file which PyTorch it uses, so its adapter is compiled now;
// for Python the start-up hook compiles at the first import of torch. All adapters that are ready,
// compiled here or shipped for a PyTorch that is near, are named in VRAMSTOW_TORCH_ADAPTER, all
// observers in VRAMSTOW_TORCH_OBSERVER, all censuses in VRAMSTOW_TORCH_CENSUS, and in a rehearsal
// all that computes values in VRAMSTOW_TORCH_VALUES.
//
// Ownership: copies. Threads: one at a time; it may take as long as a compiler does. Errors: one
// sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_PREPARE_ADAPTERS_H_
#define VRAMSTOW_TOOLS_LAUNCH_PREPARE_ADAPTERS_H_

#include <string>

#include "tools/launch/environment.h"
#include "tools/launch/installation.h"

namespace vramstow {

// Returns why the adapter for the PyTorch that `command` is linked to cannot be had; empty: it is
// ready, or the command is linked to none.
std::string PrepareAdapters(const Installation& installation, const std::string& command,
                            Environment* environment);
// The same for what computes values in a rehearsal.
std::string PrepareValues(const Installation& installation, const std::string& command,
                          Environment* environment);
// Names the observers that are ready.
void PrepareObservers(const Installation& installation, const std::string& command,
                      Environment* environment);
// Names the censuses that are ready.
void PrepareCensuses(const Installation& installation, const std::string& command,
                     Environment* environment);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_PREPARE_ADAPTERS_H_
