# Finds the CUDA headers (13.0 or newer): first those of an installed CUDA Toolkit, then those of
# the PyPI packages that the PyTorch wheel installs into .venv. Only headers are needed; nothing of
# NVIDIA is linked.
#
# Defines the target CudaHeaders::CudaHeaders, CudaHeaders_DIRECTORY and CudaHeaders_VERSION.
set(VRAMSTOW_CUDA_INCLUDE "" CACHE PATH "Folder with cuda.h; empty: look in the usual places")

file(GLOB _venv_cuda ${VRAMSTOW_ROOT}/.venv/lib/python3.*/site-packages/nvidia/cu13/include)
file(GLOB _venv_triton
     ${VRAMSTOW_ROOT}/.venv/lib/python3.*/site-packages/triton/backends/nvidia/include)
set(_places)
if(VRAMSTOW_CUDA_INCLUDE)
  set(_places ${VRAMSTOW_CUDA_INCLUDE})
else()
  foreach(_root $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda /opt/cuda)
    list(APPEND _places ${_root}/include)
  endforeach()
  list(APPEND _places ${_venv_cuda} ${_venv_triton})
endif()

foreach(_place ${_places})
  # cuda_runtime_api.h needs the folder crt/, which some packages with that header lack.
  if(EXISTS ${_place}/cuda.h AND EXISTS ${_place}/cuda_runtime_api.h
     AND EXISTS ${_place}/crt/host_defines.h)
    file(STRINGS ${_place}/cuda.h _line REGEX "#define CUDA_VERSION ")
    string(REGEX MATCH "[0-9]+" _version "${_line}")
    if(_version GREATER_EQUAL 13000)
      set(CudaHeaders_DIRECTORY ${_place})
      set(CudaHeaders_VERSION ${_version})
      break()
    endif()
  endif()
endforeach()

# The libraries' headers may be in other folders: a toolkit has no cudnn.h, and PyPI has one package
# for each library.
set(CudaHeaders_DIRECTORIES ${CudaHeaders_DIRECTORY})
file(GLOB _venv_libraries ${VRAMSTOW_ROOT}/.venv/lib/python3.*/site-packages/nvidia/*/include)
foreach(_header cublas_v2.h cublasLt.h cudnn.h nccl.h cupti.h)
  string(MAKE_C_IDENTIFIER ${_header} _name)
  # The toolkit or .venv may have been removed since the cache was written.
  if(CudaHeaders_${_name} AND NOT EXISTS "${CudaHeaders_${_name}}/${_header}")
    unset(CudaHeaders_${_name} CACHE)
  endif()
  # As HINTS, because PATHS are searched after the system's folders, whose headers may be older.
  find_path(CudaHeaders_${_name} ${_header} HINTS ${CudaHeaders_DIRECTORY} ${_places}
                                                  ${_venv_libraries})
  list(APPEND CudaHeaders_DIRECTORIES ${CudaHeaders_${_name}})
endforeach()
list(REMOVE_DUPLICATES CudaHeaders_DIRECTORIES)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CudaHeaders REQUIRED_VARS CudaHeaders_DIRECTORY CudaHeaders_cublas_v2_h CudaHeaders_cublasLt_h
              CudaHeaders_cudnn_h CudaHeaders_nccl_h CudaHeaders_cupti_h
  VERSION_VAR CudaHeaders_VERSION
  REASON_FAILURE_MESSAGE
  "the headers of CUDA 13.0 or newer (cuda.h, cublas_v2.h, cudnn.h, nccl.h, cupti.h) are not there. Install the CUDA Toolkit, or run tests/run, which puts the headers into .venv from PyPI.")
if(CudaHeaders_FOUND AND NOT TARGET CudaHeaders::CudaHeaders)
  add_library(CudaHeaders::CudaHeaders INTERFACE IMPORTED)
  target_include_directories(CudaHeaders::CudaHeaders SYSTEM INTERFACE
                             ${CudaHeaders_DIRECTORIES})
endif()
