// Names of kernels as PyTorch 2.15 registers them.
#ifndef VRAMSTOW_TESTS_SIMULATOR_KERNELS_NAMED_NAMES_H_
#define VRAMSTOW_TESTS_SIMULATOR_KERNELS_NAMED_NAMES_H_

namespace vramstow::simulator {

inline constexpr char kFillFloat[] =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EELb0EEE"
    "viT0_T1_";
inline constexpr char kAddStrided[] =
    "_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_15CUDAFunctor_"
    "addIfEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_";
inline constexpr char kAddConverting[] =
    "_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EELi4E23Tri"
    "vialOffsetCalculatorILi2EjES7_ILi1EjENS0_6memory12LoadWithCastILi2EEENSA_13StoreWithCastILi1E"
    "EEEEviT_T0_T2_T3_T4_T5_";
inline constexpr char kSumFloat[] =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functo"
    "rIfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_";
inline constexpr char kUniformFloat[] =
    "_ZN2at6native55_GLOBAL__N__3bce53d0_22_DistributionUniform_cu_67fa25cf43distribution_elementwi"
    "se_grid_stride_kernelIfLi4EZNS0_9templates4cuda21uniform_and_transformIffPNS_17CUDAGeneratorI"
    "mplEZZZNS4_14uniform_kernelIS7_EEvRNS_18TensorIteratorBaseEddT_ENKUlvE_clEvENKUlvE0_clEvEUlfE"
    "_EEvSA_T1_T2_EUlP24curandStatePhilox4_32_10E_ZNS1_27distribution_nullary_kernelIff6float4S7_S"
    "J_SE_EEvSA_SG_RKT3_T4_EUlifE_EEvlNS_15PhiloxCudaStateESF_SG_";
inline constexpr char kArangeLong[] =
    "_ZN50_GLOBAL__N__2fa45684_17_RangeFactories_cu_38772b0829elementwise_kernel_with_indexIiZZZN2a"
    "t6native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvENKUlvE2_clEvEUllE_EE"
    "vT_T0_PN15function_traitsISD_E11result_typeE";

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_TESTS_SIMULATOR_KERNELS_NAMED_NAMES_H_
