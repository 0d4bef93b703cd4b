// A trace that begins while the process runs: the fifth table of include/vramstow/framework.h.
//
// Idea: a program that was started without vramstow loads the library, and an observer tells of
// what PyTorch's allocator has and does from then on. No function of the driver is hooked. A trace
// can end, and another one can begin later.
//
// Ownership: static storage. Threads: any; one begins or ends at a time. Errors: codes of
// vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ATTACHMENT_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ATTACHMENT_H_

struct vramstow_table;

namespace vramstow {

// Null: nothing is traced here, or the driver is hooked since the process started.
const vramstow_table* AttachmentTable();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_ATTACHMENT_H_
