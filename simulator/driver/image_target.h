// ImageTarget decides which images a GPU and its driver can run, by CUDA's documented rules.
//
// Machine code for compute capability X.y runs on GPUs X.z with z ≥ y. PTX for X.y is compiled for
// any GPU from X.y on; PTX for sm_90a only for that exact capability, PTX for sm_100f only for GPUs
// of its major version. PTX of a version that is newer than the driver is not compiled.
//
// Sources: the CUDA programming guide (binary and PTX compatibility), the PTX ISA (release notes).
//
// Ownership: a value. Threads: a value. Errors: none. Units: versions are major · 10 + minor.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IMAGE_TARGET_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IMAGE_TARGET_H_

#include <cstdint>

namespace vramstow::simulator {

// A parsed architecture: "sm_90a" is 90 and 'a'. The number is 0 if it is not known.
struct Architecture {
  uint32_t number = 0;
  char suffix = 0;
};

class ImageTarget {
 public:
  // `cuda_version` is a number as cuDriverGetVersion returns it, such as 13020.
  ImageTarget(uint32_t capability, int cuda_version);

  uint32_t capability() const { return capability_; }
  uint32_t ptx_version() const { return ptx_version_; }

  // Return whether the GPU can run machine code for an architecture, or compile PTX for it. An
  // unknown architecture is accepted.
  bool Runs(Architecture code) const;
  bool Compiles(Architecture ptx) const;
  bool Knows(uint32_t ptx_version) const { return ptx_version <= ptx_version_; }

 private:
  uint32_t capability_;
  uint32_t ptx_version_;  // the newest that the driver supports
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IMAGE_TARGET_H_
