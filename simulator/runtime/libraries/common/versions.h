// Which releases the stand-ins are: those that the CUDA wheel of PyTorch 2.15 brings, whatever
// headers they are compiled with. PyTorch compares cuDNN's answer with the release that it was
// built with. tests/libraries compares these figures with the headers of the installed wheel.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_VERSIONS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_VERSIONS_H_

namespace vramstow::simulator {

struct LibraryVersion {
  int major;
  int minor;
  int patch;
};

inline constexpr LibraryVersion kCublasVersion = {13, 4, 1};  // cuBLAS and cuBLASLt
inline constexpr LibraryVersion kCudnnVersion = {9, 26, 0};
inline constexpr LibraryVersion kNcclVersion = {2, 30, 7};
inline constexpr LibraryVersion kCufftVersion = {12, 2, 0};
inline constexpr LibraryVersion kCusolverVersion = {12, 2, 0};
inline constexpr LibraryVersion kCusparseVersion = {12, 7, 10};
inline constexpr int kCuptiVersion = 130202;  // as CUPTI_API_VERSION counts
// The CUDA release that all of them say they were built with, as 1000 × major + 10 × minor.
inline constexpr int kCudaVersion = 13020;

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_VERSIONS_H_
