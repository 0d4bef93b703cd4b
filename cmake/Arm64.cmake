# A toolchain file. It builds for arm64 with Debian's cross compiler, against the libraries in the
# folder that VRAMSTOW_SYSROOT names; setup/arm64 makes that folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT "$ENV{VRAMSTOW_SYSROOT}")
if(NOT EXISTS "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/crt1.o")
  message(FATAL_ERROR "VRAMSTOW_SYSROOT is '${CMAKE_SYSROOT}', where no C library for arm64 is: run setup/arm64, which makes such a folder.")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# CUDA's headers are taken from this machine: they are the same for all processors.
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
