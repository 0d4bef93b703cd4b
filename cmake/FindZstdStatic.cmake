# Finds Zstandard as a static library, because the preloaded core must not load a library into the
# process, and must not conflict with another version that is loaded there. In a shared library its
# symbols are hidden (Debian's library is position-independent only in that way).
#
# Defines the target ZstdStatic::ZstdStatic.
find_path(ZstdStatic_INCLUDE zstd.h)
find_library(ZstdStatic_LIBRARY libzstd.a)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  ZstdStatic REQUIRED_VARS ZstdStatic_LIBRARY ZstdStatic_INCLUDE
  REASON_FAILURE_MESSAGE "Zstandard is not there: install libzstd-dev.")
if(ZstdStatic_FOUND AND NOT TARGET ZstdStatic::ZstdStatic)
  add_library(ZstdStatic::ZstdStatic STATIC IMPORTED)
  set_target_properties(
    ZstdStatic::ZstdStatic PROPERTIES IMPORTED_LOCATION ${ZstdStatic_LIBRARY}
                                      INTERFACE_INCLUDE_DIRECTORIES ${ZstdStatic_INCLUDE}
                                      INTERFACE_LINK_OPTIONS -Wl,--exclude-libs,libzstd.a)
endif()
