// Declares stream memory operations: values that a stream writes or waits for, alone or as nodes of
// graphs.
//
// Ownership: values. Threads: the caller holds the driver's lock. Errors: returns a CUresult.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_STREAM_VALUES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_STREAM_VALUES_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct StreamValue {
  uint64_t address = 0;
  uint64_t value = 0;
  uint64_t size = 4;  // 4 or 8
  unsigned flags = 0;
  bool write = false;  // false: waits for the value
};

// A batch as the caller gave it, and the operations parsed from it.
struct ValuesNode {
  std::vector<CUstreamBatchMemOpParams> given;
  std::vector<StreamValue> values;
};

// Reads and checks the operations of a batch. A batch has at most 256 operations, as documented.
CUresult ReadOperations(Call& call, const Context& context,
                        const CUstreamBatchMemOpParams* operations, unsigned count,
                        ValuesNode* node);
std::shared_ptr<Work> MakeValuesWork(State* state, Context* context,
                                     std::vector<StreamValue> values);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_STREAM_VALUES_H_
