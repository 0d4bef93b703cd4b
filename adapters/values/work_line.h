// Writes an operator's work on a GPU to the simulator's work log.
//
// Idea: an operator's kernels are not run, so their time cannot be measured. Its operations and the
// bytes that it reads and writes give a lower bound of their time. If an operator calls other
// operators, only the outer one is logged, as a whole.
//
// Ownership: nothing is stored. Threads: any. Errors: none; without a log nothing is done. Units:
// bytes.
#ifndef VRAMSTOW_ADAPTERS_VALUES_WORK_LINE_H_
#define VRAMSTOW_ADAPTERS_VALUES_WORK_LINE_H_

#include <c10/core/Device.h>

#include <vector>

#include "adapters/values/plan.h"
#include "simulator/simulator_api.h"

namespace vramstow::values {

// True if a work log was requested.
bool LogsWork();

// `ranges` is the memory that the operator reads and writes.
void LogOperator(const Plan& plan, const Stack& given, const Stack& results, uint64_t operations,
                 c10::DeviceIndex card, const std::vector<vramstowSimulatorRange>& ranges);

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_WORK_LINE_H_
