// NCCL's answers, as ncclResult_t has them.
//
// Ownership, threads, errors, units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_NCCL_RESULTS_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_NCCL_RESULTS_H_

namespace vramstow::handlers {

inline constexpr int kNcclSuccess = 0;
inline constexpr int kNcclSystemError = 2;
// Of communicators that do not block: a thread of NCCL's own does the work.
inline constexpr int kNcclInProgress = 7;

inline bool IsNcclSuccess(int result) {
  return result == kNcclSuccess || result == kNcclInProgress;
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_NCCL_RESULTS_H_
