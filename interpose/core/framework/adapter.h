// Loads the adapter for the PyTorch of this process if no start-up hook has loaded it.
//
// Idea: a program that uses LibTorch, or Python without its start-up files, initialises CUDA before
// the first tensor. At that moment PyTorch's allocator exists but is not used yet, so it can be
// replaced. The adapter has to be ready: VRAMSTOW_TORCH_ADAPTER names it. `vramstow run` has
// compiled it before it started the program; nothing is compiled, and no process started, in the
// running program. An observer of PyTorch's own allocator cannot be installed in this way, because
// that allocator has no lists of observers before its first use; the log then says why tensors are
// not seen.
//
// Ownership: the adapter is never unloaded. Threads: the first caller loads it; others wait for
// cuInit anyway. Errors: one sentence on stderr, then PyTorch keeps its own allocator. Takes the
// dynamic linker's lock; called with no lock of vramstow's. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ADAPTER_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ADAPTER_H_

#include "base/options.h"

namespace vramstow {

// Called once CUDA is initialised. Does nothing in a process without PyTorch, or with
// --level=segments. Without the pool it only logs why tensors are not observed.
void LoadAdapter(const Options& options);

// Loads the library that computes the values of PyTorch's operators in a simulated run. Does
// nothing on a real GPU.
void LoadValues(const Options& options);

// Returns why Python's start-up hook did not run in a process that has PyTorch; null if it ran, was
// not requested, or was not needed. The text lives as long as the process.
const char* WhyHookIsMissing(const Options& options);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ADAPTER_H_
