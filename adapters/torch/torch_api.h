// Short names for what this adapter uses of PyTorch.
//
// Ownership, threads, errors: none of its own. Units: as PyTorch's.
#ifndef VRAMSTOW_ADAPTERS_TORCH_TORCH_API_H_
#define VRAMSTOW_ADAPTERS_TORCH_TORCH_API_H_

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/ApproximateClock.h>

#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow::torch_adapter {

namespace caching = c10::cuda::CUDACachingAllocator;
using c10::DataPtr;
using c10::DeviceIndex;
using c10::GatheredContext;
using c10::MempoolId_t;
using caching::CUDAAllocator;
using caching::DeviceStats;
using caching::SegmentInfo;
using caching::SnapshotInfo;
using caching::TraceEntry;
using OutOfMemoryObserver = std::function<void(int64_t, size_t, size_t, size_t)>;

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_TORCH_API_H_
