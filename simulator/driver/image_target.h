// ImageTarget: which images a card and its driver can run, by CUDA's documented rules.
//
// Machine code for compute capability X.y runs on cards X.z with z ≥ y. PTX for X.y is compiled for
// any card from X.y on; for sm_90a only for that very card, for sm_100f only for cards of its major
// version. PTX of a version that the driver does not know yet is not compiled.
//
// Sources: the CUDA programming guide (binary and PTX compatibility), the PTX ISA (release notes).
//
// Ownership: a value. Threads: a value. Errors: none. Units: versions are major · 10 + minor.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IMAGE_TARGET_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IMAGE_TARGET_H_

#include <cstdint>

namespace vramstow::simulator {

// "sm_90a": 90 and 'a'. Number 0: not known.
struct Architecture {
  uint32_t number = 0;
  char suffix = 0;
};

class ImageTarget {
 public:
  // `cuda_version` as cuDriverGetVersion has it: 13020.
  ImageTarget(uint32_t capability, int cuda_version);

  uint32_t capability() const { return capability_; }
  uint32_t ptx_version() const { return ptx_version_; }

  // What is not known is taken for right.
  bool Runs(Architecture code) const;
  bool Compiles(Architecture ptx) const;
  bool Knows(uint32_t ptx_version) const { return ptx_version <= ptx_version_; }

 private:
  uint32_t capability_;
  uint32_t ptx_version_;  // the newest that the driver knows
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IMAGE_TARGET_H_
