# A toolchain file: links against the C library in the folder that VRAMSTOW_SYSROOT names, which
# setup/wheel makes, so that what is made runs with that C library and with newer ones. Compiled is
# against this machine's headers: whatever they use that the older library lacks stops the link.
set(_sysroot "$ENV{VRAMSTOW_SYSROOT}")
set(_libraries "${_sysroot}/usr/lib/x86_64-linux-gnu")
if(NOT EXISTS "${_libraries}/crt1.o")
  message(FATAL_ERROR "VRAMSTOW_SYSROOT is '${_sysroot}', where no C library is: run setup/wheel, which makes such a folder.")
endif()
# The compiler looks beside itself before it looks there, so -B and -L as well. Programs that only
# the build itself runs use this machine's C++ library, which needs more.
foreach(_kind EXE SHARED MODULE)
  set(CMAKE_${_kind}_LINKER_FLAGS_INIT
      "--sysroot=${_sysroot} -B${_libraries}/ -L${_libraries} -L${_sysroot}/lib/x86_64-linux-gnu")
endforeach()
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--allow-shlib-undefined")
# Before glibc 2.34 these were libraries of their own.
foreach(_language C CXX)
  set(CMAKE_${_language}_STANDARD_LIBRARIES_INIT "-Wl,--as-needed -ldl -lpthread -lrt")
endforeach()
# The private copy must run there, too.
set(Libunwind_LIBRARY "${_libraries}/libunwind.so" CACHE FILEPATH "")
