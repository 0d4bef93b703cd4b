# Finds Abseil and replaces its shared libraries by the static ones, because the program must also
# run on machines without Abseil or with another release of it. Debian's CMake files name the shared
# libraries, and its package has the static ones in the same folder.
#
# Defines Abseil's own targets, absl::….
# Without PATH, as for the other packages: an active conda environment stands in it, and its Abseil
# has no static libraries.
find_package(absl QUIET NO_SYSTEM_ENVIRONMENT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  AbslStatic REQUIRED_VARS absl_DIR
  REASON_FAILURE_MESSAGE "Abseil is not there: install libabsl-dev.")
if(NOT AbslStatic_FOUND)
  return()
endif()
get_property(_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER _targets INCLUDE REGEX "^absl::")
foreach(_target IN LISTS _targets)
  get_target_property(_configurations ${_target} IMPORTED_CONFIGURATIONS)
  foreach(_configuration IN LISTS _configurations)
    get_target_property(_library ${_target} IMPORTED_LOCATION_${_configuration})
    string(REGEX REPLACE "\\.so[0-9.]*$" ".a" _archive "${_library}")
    if(_library AND NOT EXISTS "${_archive}")
      message(FATAL_ERROR "Abseil's static library ${_archive} is not there: install libabsl-dev.")
    endif()
    if(_library)
      set_target_properties(${_target} PROPERTIES IMPORTED_LOCATION_${_configuration} ${_archive}
                                                  IMPORTED_SONAME_${_configuration} "")
    endif()
  endforeach()
endforeach()
