// Defines short names for the parts of PyTorch that this adapter uses.
//
// Idea: some types have different names in different releases. Their short names are derived from
// members that have these types.
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

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace vramstow::torch_adapter {

namespace caching = c10::cuda::CUDACachingAllocator;
using c10::DataPtr;
using c10::DeviceIndex;
using c10::GatheredContext;
using caching::CUDAAllocator;
using caching::DeviceStats;
using caching::SegmentInfo;
using caching::SnapshotInfo;
using caching::TraceEntry;
using MempoolId_t = decltype(SegmentInfo::owner_private_pool_id);
using Stat = decltype(DeviceStats::allocation)::value_type;
using OutOfMemoryObserver = std::function<void(int64_t, size_t, size_t, size_t)>;

// The result of shareIpcHandle. In a release without this function, a handle of the CUDA runtime is
// shared instead.
template <typename Allocator>
struct SharingTypes {
  struct Handle {
    ptrdiff_t offset;
    std::string handle;
  };
};
template <typename Allocator>
requires requires(Allocator* allocator) { allocator->shareIpcHandle(nullptr); }
struct SharingTypes<Allocator> {
  using Handle = decltype(std::declval<Allocator&>().shareIpcHandle(nullptr));
};
using ShareableHandle = SharingTypes<CUDAAllocator>::Handle;

// The result of getExpandableSegmentSizes, if a release has it.
template <typename Allocator>
struct SegmentTypes {
  using Sizes = std::vector<size_t>;
};
template <typename Allocator>
requires requires(Allocator* allocator) { allocator->getExpandableSegmentSizes(0); }
struct SegmentTypes<Allocator> {
  using Sizes = decltype(std::declval<Allocator&>().getExpandableSegmentSizes(0));
};
using ExpandableSegmentSizes = SegmentTypes<CUDAAllocator>::Sizes;

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_TORCH_API_H_
