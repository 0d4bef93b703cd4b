# Sets what every project of this tree needs before its first target: the language, the folders for
# results of the build, and the modules of this folder. The project vramstow includes this file, and
# so does the simulator when it is configured alone.
get_filename_component(VRAMSTOW_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Functions and lines are enough to read a stack of the installed libraries. Only a Debug build has
# debug information about variables, which costs a third of the time to compile.
add_compile_options($<$<CONFIG:RelWithDebInfo>:-g1>)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# The folder of the simulated libcuda.so.1, libcudart.so.13 and others. They have a folder of their
# own, because it is added to LD_LIBRARY_PATH, and no other library may be found through it.
set(VRAMSTOW_SIMULATOR_DIRECTORY ${CMAKE_BINARY_DIR}/lib/vramstow/simulator)

list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
include(VramstowRoom)
include(VramstowSanitize)
include(VramstowTestTargets)
# The program searches for its libraries in ../lib, relative to itself; on some systems the default
# of CMAKE_INSTALL_LIBDIR is another folder.
set(CMAKE_INSTALL_LIBDIR lib CACHE STRING "Where libraries go, below the prefix")
if(NOT CMAKE_INSTALL_LIBDIR STREQUAL "lib")
  message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR is ${CMAKE_INSTALL_LIBDIR}, but vramstow's libraries lie in lib beside bin: leave it out.")
endif()
include(GNUInstallDirs)
find_package(CudaHeaders REQUIRED)

# Tests and benchmarks need GoogleTest and more packages; OFF builds only the product.
option(VRAMSTOW_TESTS "Build the tests and the benchmarks" ON)
