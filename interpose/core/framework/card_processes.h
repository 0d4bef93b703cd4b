// CardProcesses: the other processes that hold memory of a card when a request fails.
//
// Idea: PyTorch's own error names them, by the driver's management library (NVML), which PyTorch
// has loaded by then. Nothing is loaded here. If that library does not list this process itself, it
// counts processes of another namespace, and its numbers say nothing here.
//
// Ownership: writes a fact of the trace. Threads: any; PyTorch tells of failures without its locks.
// Errors: no fact, if the library is not there or knows nothing. Units: bytes. No heap of its own.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CARD_PROCESSES_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CARD_PROCESSES_H_

namespace vramstow {

// Describes `device.N.other_processes`: "PID:BYTES PID:BYTES", those of the most bytes first.
void DescribeOtherProcesses(int device);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CARD_PROCESSES_H_
