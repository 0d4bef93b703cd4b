// Defines the releases that the stand-ins report: those in the CUDA wheel of PyTorch 2.15, whatever
// headers the stand-ins are compiled with. PyTorch compares the release of cuDNN with the one that
// it was built with. tests/libraries compares these figures with the headers of the installed
// wheel.
//
// Ownership: constants. Threads: any. Errors: none. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_VERSIONS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_VERSIONS_H_

#include <library_types.h>

namespace vramstow::simulator {

struct LibraryVersion {
  int major;
  int minor;
  int patch;
};

// Stores the major, minor or patch number in *value. `part` is a libraryPropertyType. Returns
// false, and stores nothing, if it is none of the three.
inline bool StoreProperty(const LibraryVersion& version, int part, int* value) {
  const int parts[] = {version.major, version.minor, version.patch};
  if (part < MAJOR_VERSION || part > PATCH_LEVEL) return false;
  *value = parts[part];
  return true;
}

#if defined(VRAMSTOW_CUDA_12)
// The releases that the libraries for CUDA 12 report. Older wheels use these libraries; the
// releases are those that the wheels of PyTorch 2.9 for CUDA 12.8 install.
inline constexpr LibraryVersion kCublasVersion = {12, 8, 4};
inline constexpr LibraryVersion kCufftVersion = {11, 3, 3};
inline constexpr LibraryVersion kCusolverVersion = {11, 7, 3};
inline constexpr int kCuptiVersion = 26;
inline constexpr int kCudaVersion = 12080;
#else
inline constexpr LibraryVersion kCublasVersion = {13, 4, 1};  // cuBLAS and cuBLASLt
inline constexpr LibraryVersion kCufftVersion = {12, 2, 0};
inline constexpr LibraryVersion kCusolverVersion = {12, 2, 0};
inline constexpr int kCuptiVersion = 130202;  // as CUPTI_API_VERSION counts
// The CUDA release with which all libraries claim to be built, as 1000 × major + 10 × minor.
inline constexpr int kCudaVersion = 13020;
#endif
// The libraries below have the same file name for CUDA 12 and CUDA 13, so they report one release
// for both.
inline constexpr LibraryVersion kCudnnVersion = {9, 26, 0};
inline constexpr LibraryVersion kNcclVersion = {2, 30, 7};
inline constexpr LibraryVersion kCurandVersion = {10, 4, 0};
inline constexpr LibraryVersion kCusparseVersion = {12, 7, 10};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_VERSIONS_H_
