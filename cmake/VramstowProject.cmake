# What every project of this tree needs before its first target: the language, where things are built,
# the modules of this folder. The whole of vramstow includes it, and the simulator when it is
# configured alone.
get_filename_component(VRAMSTOW_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Functions and lines are enough to read a stack of what is installed; the variables, which take a
# third of the time to compile, are in a Debug build.
add_compile_options($<$<CONFIG:RelWithDebInfo>:-g1>)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Where the simulated libcuda.so.1, libcudart.so.13, … go. A folder of its own, because it is put on
# LD_LIBRARY_PATH and nothing else may be found through it.
set(VRAMSTOW_SIMULATOR_DIRECTORY ${CMAKE_BINARY_DIR}/lib/vramstow/simulator)

list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
include(VramstowRoom)
include(VramstowSanitize)
include(VramstowTestTargets)
# The program looks for its libraries in ../lib, wherever all of it lies; some systems have other
# defaults.
set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "Where libraries go, below the prefix")
if(NOT CMAKE_INSTALL_LIBDIR STREQUAL "lib")
  message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR is ${CMAKE_INSTALL_LIBDIR}, but vramstow's libraries lie in lib beside bin: leave it out.")
endif()
include(GNUInstallDirs)
find_package(CudaHeaders REQUIRED)

# Tests and benchmarks need GoogleTest and more; who only wants the product goes without.
option(VRAMSTOW_TESTS "Build the tests and the benchmarks" ON)
