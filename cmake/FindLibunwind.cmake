# Finds libunwind: its headers, and the shared library of which a private copy is made. (Debian's
# static library is not position-independent, so it cannot become part of a shared library.)
#
# Defines the target Libunwind::headers and Libunwind_LIBRARY.
find_path(Libunwind_INCLUDE libunwind.h)
find_library(Libunwind_LIBRARY libunwind.so)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Libunwind REQUIRED_VARS Libunwind_LIBRARY Libunwind_INCLUDE
  REASON_FAILURE_MESSAGE "libunwind is not there: install libunwind-dev.")
if(Libunwind_FOUND AND NOT TARGET Libunwind::headers)
  add_library(Libunwind::headers INTERFACE IMPORTED)
  set_target_properties(Libunwind::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                      ${Libunwind_INCLUDE})
endif()
