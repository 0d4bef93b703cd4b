# VRAMSTOW_SYSROOT names a folder with an older C library, which setup/wheel makes. The installed
# programs and libraries are then linked against that C library, so that they run with it and with
# newer ones, including this machine's. In both cases the compiler uses this machine's headers, so
# after a change of the folder the same objects are only linked again. The link fails if they use
# functions that the older library lacks.
set(VRAMSTOW_SYSROOT "" CACHE PATH "Folder with an older C library to link against; empty: this machine's")

# vramstow_link_against_older_libc() applies to the targets that are defined after it, up to
# vramstow_link_against_own_libc(). Call it after Libunwind has been found.
macro(vramstow_link_against_older_libc)
  if(VRAMSTOW_SYSROOT)
    set(_older ${VRAMSTOW_SYSROOT}/usr/lib/x86_64-linux-gnu)
    if(NOT EXISTS "${_older}/crt1.o")
      message(FATAL_ERROR "VRAMSTOW_SYSROOT is '${VRAMSTOW_SYSROOT}', where no C library is: run setup/wheel, which makes such a folder, or configure with -DVRAMSTOW_SYSROOT=.")
    endif()
    # The compiler searches its own folders before those of --sysroot, so -B and -L are needed, too.
    # Programs that run only during the build use this machine's C++ library, which needs a newer C
    # library.
    foreach(_kind EXE SHARED MODULE)
      set(_own_${_kind}_flags "${CMAKE_${_kind}_LINKER_FLAGS}")
      string(APPEND CMAKE_${_kind}_LINKER_FLAGS
             " --sysroot=${VRAMSTOW_SYSROOT} -B${_older}/ -L${_older} -L${VRAMSTOW_SYSROOT}/lib/x86_64-linux-gnu")
    endforeach()
    string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,--allow-shlib-undefined")
    # Before glibc 2.34, dl, pthread and rt were separate libraries.
    foreach(_language C CXX)
      set(_own_${_language}_libraries "${CMAKE_${_language}_STANDARD_LIBRARIES}")
      string(APPEND CMAKE_${_language}_STANDARD_LIBRARIES " -Wl,--as-needed -ldl -lpthread -lrt")
    endforeach()
    # The private copy of libunwind must also run with the older C library.
    set(Libunwind_LIBRARY ${_older}/libunwind.so)
  endif()
endmacro()

macro(vramstow_link_against_own_libc)
  if(VRAMSTOW_SYSROOT)
    foreach(_kind EXE SHARED MODULE)
      set(CMAKE_${_kind}_LINKER_FLAGS "${_own_${_kind}_flags}")
    endforeach()
    foreach(_language C CXX)
      set(CMAKE_${_language}_STANDARD_LIBRARIES "${_own_${_language}_libraries}")
    endforeach()
  endif()
endmacro()
