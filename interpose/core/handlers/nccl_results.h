// The results of NCCL's functions, as in ncclResult_t.
//
// Ownership, threads, errors, units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_NCCL_RESULTS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_NCCL_RESULTS_H_

namespace vramstow::handlers {

inline constexpr int kNcclSuccess = 0;
inline constexpr int kNcclSystemError = 2;
// The result if the communicator does not block: one of NCCL's own threads does the work later.
inline constexpr int kNcclInProgress = 7;

inline bool IsNcclSuccess(int result) {
  return result == kNcclSuccess || result == kNcclInProgress;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_NCCL_RESULTS_H_
