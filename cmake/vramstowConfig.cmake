# The package file of find_package(vramstow). It defines the C API's headers as the target
# vramstow::vramstow, the program as VRAMSTOW_PROGRAM, and vramstow_add_trace_test().
get_filename_component(_vramstow_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
if(NOT TARGET vramstow::vramstow)
  add_library(vramstow::vramstow INTERFACE IMPORTED)
  set_target_properties(vramstow::vramstow PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${_vramstow_prefix}/include
    # The headers find the preloaded library with dlsym(); nothing of vramstow is linked.
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
# The program of this installation is used, unless the project or the user named another one.
if(NOT VRAMSTOW_PROGRAM)
  set(VRAMSTOW_PROGRAM ${_vramstow_prefix}/bin/vramstow)
endif()
unset(_vramstow_prefix)
include(${CMAKE_CURRENT_LIST_DIR}/VramstowTraceTest.cmake)
