# VRAMSTOW_SYSROOT: a folder with an older C library, which setup/wheel makes. What is installed is then
# linked against that one, so that it runs with it and with newer ones, this machine's among them.
# Compiled is against this machine's headers either way: with another folder, or none, the same objects
# are linked once more. What they use that the older library lacks stops the link.
set(VRAMSTOW_SYSROOT "" CACHE PATH "Folder with an older C library to link against; empty: this machine's")

# vramstow_link_against_older_libc(): for the targets that come after it, up to
# vramstow_link_against_own_libc(). Call it once Libunwind is found.
macro(vramstow_link_against_older_libc)
  if(VRAMSTOW_SYSROOT)
    set(_older ${VRAMSTOW_SYSROOT}/usr/lib/x86_64-linux-gnu)
    if(NOT EXISTS "${_older}/crt1.o")
      message(FATAL_ERROR "VRAMSTOW_SYSROOT is '${VRAMSTOW_SYSROOT}', where no C library is: run setup/wheel, which makes such a folder, or configure with -DVRAMSTOW_SYSROOT=.")
    endif()
    # The compiler looks beside itself before it looks there, so -B and -L as well. Programs that only
    # the build itself runs use this machine's C++ library, which needs more.
    foreach(_kind EXE SHARED MODULE)
      set(_own_${_kind}_flags "${CMAKE_${_kind}_LINKER_FLAGS}")
      string(APPEND CMAKE_${_kind}_LINKER_FLAGS
             " --sysroot=${VRAMSTOW_SYSROOT} -B${_older}/ -L${_older} -L${VRAMSTOW_SYSROOT}/lib/x86_64-linux-gnu")
    endforeach()
    string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,--allow-shlib-undefined")
    # Before glibc 2.34 these were libraries of their own.
    foreach(_language C CXX)
      set(_own_${_language}_libraries "${CMAKE_${_language}_STANDARD_LIBRARIES}")
      string(APPEND CMAKE_${_language}_STANDARD_LIBRARIES " -Wl,--as-needed -ldl -lpthread -lrt")
    endforeach()
    # The private copy must run there, too.
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
