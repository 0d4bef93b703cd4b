// The adapter for the PyTorch of this process, where no start-up hook has brought one.
//
// Idea: whoever loads LibTorch, or Python without its start-up files, initialises CUDA before the
// first tensor. At that moment PyTorch's allocator is there and not in use yet, so it can be
// replaced. The adapter has to be ready: VRAMSTOW_TORCH_ADAPTER names it. Nothing is compiled, and
// no process started, in a program that runs; `vramstow run` did that before it started the
// program. An observer of PyTorch's own allocator cannot come in this way, because that allocator
// has no lists of observers before its first use: then it is said why tensors are not seen.
//
// Ownership: the adapter stays as long as the process. Threads: the first caller does it; others
// wait for cuInit anyway. Errors: one sentence on stderr, then PyTorch keeps its own allocator.
// Takes the dynamic linker's lock; called with no lock of vramstow's. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ADAPTER_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ADAPTER_H_

#include "base/options.h"

namespace vramstow {

// Called once CUDA is initialised. Does nothing in a process without PyTorch, or at segment level.
// Without the pool it only tells why nothing is observed.
void LoadAdapter(const Options& options);

// The same for what computes values in a rehearsal. Does nothing on a real card.
void LoadValues(const Options& options);

// Why Python's start-up hook did not run in a process that has PyTorch; null: it ran, nobody asked
// for it, or it was not needed. Lives as long as the process.
const char* WhyHookIsMissing(const Options& options);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ADAPTER_H_
