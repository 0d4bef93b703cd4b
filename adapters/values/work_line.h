// Tells the simulator's work log what a card would have to do for an operator.
//
// Idea: an operator's kernels are not run, so nobody can time them. Its operations and the bytes
// that it reads and writes say how long they take at least. An operator that calls others is told
// as a whole, and those are not.
//
// Ownership: nothing is kept. Threads: any. Errors: none; without a log nothing is done. Units:
// bytes.
#ifndef VRAMSTOW_ADAPTERS_VALUES_WORK_LINE_H_
#define VRAMSTOW_ADAPTERS_VALUES_WORK_LINE_H_

#include <c10/core/Device.h>

#include <vector>

#include "adapters/values/plan.h"
#include "simulator/simulator_api.h"

namespace vramstow::values {

// Whether somebody wants to know.
bool LogsWork();

// `ranges`: of the memory that it reads and writes.
void LogOperator(const Plan& plan, const Stack& given, const Stack& results, uint64_t operations,
                 c10::DeviceIndex card, const std::vector<vramstowSimulatorRange>& ranges);

}  // namespace vramstow::values

#endif  // VRAMSTOW_ADAPTERS_VALUES_WORK_LINE_H_
