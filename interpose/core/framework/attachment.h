// Provides the fifth table of include/vramstow/framework.h, by which a trace begins and ends while
// the process runs.
//
// Idea: a program that was started without vramstow loads the library, and from then on an observer
// reports the memory and the events of PyTorch's allocator. No function of the driver is hooked. A
// trace can end, and another one can begin later.
//
// Ownership: static storage. Threads: any; one trace begins or ends at a time. Errors: codes of
// vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ATTACHMENT_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ATTACHMENT_H_

struct vramstow_table;

namespace vramstow {

// Returns null if nothing can be traced here, or if the driver has been hooked since the process
// started.
const vramstow_table* AttachmentTable();

// True while a trace is recorded that began in the running process, without hooks.
bool IsAttached();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ATTACHMENT_H_
