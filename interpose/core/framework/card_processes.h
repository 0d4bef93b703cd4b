// CardProcesses lists the other processes that hold memory of a GPU when a request fails.
//
// Idea: PyTorch's own error message names these processes. It finds them by the driver's management
// library (NVML), which is therefore loaded by then. The code here uses that library and loads
// nothing. If the library does not list this process itself, its process numbers belong to another
// namespace and are not used.
//
// Ownership: writes a fact of the trace. Threads: any; PyTorch reports failures without its locks.
// Errors: no fact, if the library is not loaded or returns no processes. Units: bytes. No heap of
// its own.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CARD_PROCESSES_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CARD_PROCESSES_H_

namespace vramstow {

// Writes the fact `device.N.other_processes`: "PID:BYTES PID:BYTES", sorted by bytes, the most
// first.
void DescribeOtherProcesses(int device);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CARD_PROCESSES_H_
