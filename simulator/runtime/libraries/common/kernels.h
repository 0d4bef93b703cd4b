// Defines a stand-in's kernels as a PTX module with one empty entry per name. A library defines its
// module with
//
//   const char vramstow::simulator::kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD
//       VRAMSTOW_KERNEL("cublas_gemm") VRAMSTOW_KERNEL("cublas_gemv");
//
// The text is valid PTX for every GPU from compute capability 7.0 on, so that the stand-ins can be
// loaded with any driver. The 256 bytes of the argument are kArgumentWords of common/device.h.
//
// Ownership: a constant. Threads: any. Errors: none. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_KERNELS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_KERNELS_H_

#define VRAMSTOW_KERNEL_MODULE_HEAD \
  ".version 6.0\n"                  \
  ".target sm_70\n"                 \
  ".address_size 64\n"

#define VRAMSTOW_KERNEL(name) \
  ".visible .entry " name "(.param .align 8 .b8 " name "_param_0[256])\n{\n  ret;\n}\n"

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_KERNELS_H_
