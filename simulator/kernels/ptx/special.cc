#include "simulator/kernels/ptx/special.h"

namespace vramstow::simulator::ptx {

bool FindSpecial(std::string_view name, Special* special) {
  struct Row {
    const char* name;
    Special special;
  };
  static constexpr Row kRows[] = {
      {"%tid.x", Special::kTidX},
      {"%tid.y", Special::kTidY},
      {"%tid.z", Special::kTidZ},
      {"%ntid.x", Special::kNtidX},
      {"%ntid.y", Special::kNtidY},
      {"%ntid.z", Special::kNtidZ},
      {"%ctaid.x", Special::kCtaidX},
      {"%ctaid.y", Special::kCtaidY},
      {"%ctaid.z", Special::kCtaidZ},
      {"%nctaid.x", Special::kNctaidX},
      {"%nctaid.y", Special::kNctaidY},
      {"%nctaid.z", Special::kNctaidZ},
      {"%laneid", Special::kLaneId},
      {"%warpid", Special::kWarpId},
      {"%nwarpid", Special::kWarpCount},
      {"%lanemask_eq", Special::kLanesEqual},
      {"%lanemask_lt", Special::kLanesLess},
      {"%lanemask_le", Special::kLanesLessEqual},
      {"%lanemask_gt", Special::kLanesGreater},
      {"%lanemask_ge", Special::kLanesGreaterEqual},
      {"%clock", Special::kClock},
      {"%clock64", Special::kClock},
      {"%clock_hi", Special::kClockHigh},
      {"%globaltimer", Special::kClock},
      {"%globaltimer_lo", Special::kClock},
      {"%globaltimer_hi", Special::kClockHigh},
      {"%dynamic_smem_size", Special::kDynamicShared},
      {"%total_smem_size", Special::kTotalShared},
      // The registers report one multiprocessor and one grid, and clusters of one block.
      {"%smid", Special::kZero},
      {"%nsmid", Special::kOne},
      {"%gridid", Special::kZero},
      {"%cluster_ctarank", Special::kZero},
      {"%cluster_nctarank", Special::kOne},
      {"WARP_SZ", Special::kWarpSize},
  };
  for (const Row& row : kRows) {
    if (name != row.name) continue;
    *special = row.special;
    return true;
  }
  return false;
}

}  // namespace vramstow::simulator::ptx
