# Finds zlib as a static library, because the program must need no library except the C library.
#
# Defines the target ZlibStatic::ZlibStatic.
find_path(ZlibStatic_INCLUDE zlib.h)
find_library(ZlibStatic_LIBRARY libz.a)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  ZlibStatic REQUIRED_VARS ZlibStatic_LIBRARY ZlibStatic_INCLUDE
  REASON_FAILURE_MESSAGE "zlib is not there: install zlib1g-dev.")
if(ZlibStatic_FOUND AND NOT TARGET ZlibStatic::ZlibStatic)
  add_library(ZlibStatic::ZlibStatic STATIC IMPORTED)
  set_target_properties(ZlibStatic::ZlibStatic
                        PROPERTIES IMPORTED_LOCATION ${ZlibStatic_LIBRARY}
                                   INTERFACE_INCLUDE_DIRECTORIES ${ZlibStatic_INCLUDE})
endif()
