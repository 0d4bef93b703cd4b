// Visits the memory that the operations of a batch name (cuStreamBatchMemOp, and graph nodes of
// type "batch memory operation").
//
// Ownership: the caller's. Threads: any. Errors: unknown operations are skipped. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAM_OPERATIONS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAM_OPERATIONS_H_

#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow::handlers {

// Calls visit(address) for each value that an operation waits for or writes. `operations` may be
// null.
template <typename Visitor>
void VisitOperations(const CUstreamBatchMemOpParams* operations, unsigned int count,
                     Visitor visit) {
  for (unsigned int i = 0; operations != nullptr && i < count; ++i) {
    const CUstreamBatchMemOpParams& one = operations[i];
    switch (one.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        visit(one.waitValue.address);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        visit(one.writeValue.address);
        break;
      default:
        break;
    }
  }
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_STREAM_OPERATIONS_H_
