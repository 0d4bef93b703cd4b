# Finds elfutils' libdw and everything that it needs as static libraries, because the program must
# also run on machines without elfutils.
#
# Defines the target LibdwStatic::LibdwStatic.
find_package(ZlibStatic REQUIRED)
find_path(LibdwStatic_INCLUDE elfutils/libdwfl.h)
set(_needed)
foreach(_name dw elf lzma bz2)
  find_library(LibdwStatic_${_name} lib${_name}.a)
  list(APPEND _needed LibdwStatic_${_name})
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibdwStatic REQUIRED_VARS ${_needed} LibdwStatic_INCLUDE
  REASON_FAILURE_MESSAGE
  "elfutils is not there: install libdw-dev, libelf-dev, liblzma-dev and libbz2-dev.")
if(LibdwStatic_FOUND AND NOT TARGET LibdwStatic::LibdwStatic)
  add_library(LibdwStatic::LibdwStatic STATIC IMPORTED)
  set_target_properties(
    LibdwStatic::LibdwStatic
    PROPERTIES IMPORTED_LOCATION ${LibdwStatic_dw}
               INTERFACE_INCLUDE_DIRECTORIES ${LibdwStatic_INCLUDE}
               INTERFACE_LINK_LIBRARIES
               "${LibdwStatic_elf};${LibdwStatic_lzma};${LibdwStatic_bz2};ZlibStatic::ZlibStatic;dl")
endif()
