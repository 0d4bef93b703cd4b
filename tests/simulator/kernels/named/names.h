// Names of kernels as PyTorch 2.15 registers them.
#ifndef VRAMSTOW_TESTS_SIMULATOR_KERNELS_NAMED_NAMES_H_
#define VRAMSTOW_TESTS_SIMULATOR_KERNELS_NAMED_NAMES_H_

namespace vramstow::simulator {

inline constexpr char kUniformFloat[] =
    "_ZN2at6native55_GLOBAL__N__3bce53d0_22_DistributionUniform_cu_67fa25cf43distribution_elementwi"
    "se_grid_stride_kernelIfLi4EZNS0_9templates4cuda21uniform_and_transformIffPNS_17CUDAGeneratorI"
    "mplEZZZNS4_14uniform_kernelIS7_EEvRNS_18TensorIteratorBaseEddT_ENKUlvE_clEvENKUlvE0_clEvEUlfE"
    "_EEvSA_T1_T2_EUlP24curandStatePhilox4_32_10E_ZNS1_27distribution_nullary_kernelIff6float4S7_S"
    "J_SE_EEvSA_SG_RKT3_T4_EUlifE_EEvlNS_15PhiloxCudaStateESF_SG_";

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_TESTS_SIMULATOR_KERNELS_NAMED_NAMES_H_
