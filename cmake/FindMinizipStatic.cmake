# Finds minizip as a static library, because the program must also run on machines without minizip.
#
# Defines the target MinizipStatic::MinizipStatic.
find_package(ZlibStatic REQUIRED)
find_path(MinizipStatic_INCLUDE minizip/unzip.h)
find_library(MinizipStatic_LIBRARY libminizip.a)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  MinizipStatic REQUIRED_VARS MinizipStatic_LIBRARY MinizipStatic_INCLUDE
  REASON_FAILURE_MESSAGE "minizip is not there: install libminizip-dev.")
if(MinizipStatic_FOUND AND NOT TARGET MinizipStatic::MinizipStatic)
  add_library(MinizipStatic::MinizipStatic STATIC IMPORTED)
  set_target_properties(
    MinizipStatic::MinizipStatic PROPERTIES IMPORTED_LOCATION ${MinizipStatic_LIBRARY}
                                            INTERFACE_INCLUDE_DIRECTORIES ${MinizipStatic_INCLUDE}
                                            INTERFACE_LINK_LIBRARIES ZlibStatic::ZlibStatic)
endif()
