# VRAMSTOW_THREAD_SAFETY=ON (the preset `thread-safety`) checks the rooms that have locks with
# clang's thread safety analysis. Files are only compiled, nothing is linked; the target
# `thread_safety` is the only one that is built.
option(VRAMSTOW_THREAD_SAFETY "Only check the annotations of locks (clang)" OFF)
if(VRAMSTOW_THREAD_SAFETY)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "VRAMSTOW_THREAD_SAFETY needs clang: cmake --preset thread-safety.")
  endif()
  # These flags replace the other warnings, which are meant for the build's own compiler. The beta
  # part of the analysis checks the order of locks.
  set(VRAMSTOW_WARNINGS -Wno-everything -Werror=thread-safety -Werror=thread-safety-beta)
endif()

# Returns whether a file in this folder names a lock.
function(_vramstow_has_locks folder result)
  file(GLOB _files ${folder}/*.h ${folder}/*.cc)
  foreach(_file IN LISTS _files)
    file(STRINGS ${_file} _lines REGEX "Mutex|std::mutex")
    if(_lines)
      set(${result} ON PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} OFF PARENT_SCOPE)
endfunction()

# Returns whether the target has sources in folders with locks that no earlier target had. Code
# without locks need not be compiled, nor the same library again for another version of CUDA.
function(_vramstow_adds_locks target result)
  get_target_property(_sources ${target} SOURCES)
  get_target_property(_place ${target} SOURCE_DIR)
  get_property(_seen GLOBAL PROPERTY VRAMSTOW_SOURCES_WITH_LOCKS)
  set(${result} OFF PARENT_SCOPE)
  foreach(_source IN LISTS _sources)
    cmake_path(ABSOLUTE_PATH _source BASE_DIRECTORY ${_place})
    cmake_path(GET _source PARENT_PATH _folder)
    if(_source IN_LIST _seen)
      continue()
    endif()
    _vramstow_has_locks(${_folder} _has_locks)
    if(_has_locks)
      set(${result} ON PARENT_SCOPE)
      set_property(GLOBAL APPEND PROPERTY VRAMSTOW_SOURCES_WITH_LOCKS ${_source})
    endif()
  endforeach()
endfunction()

# Defines the target `thread_safety`: vramstow_check_locks(ROOM…). Call it after all rooms have been
# added.
function(vramstow_check_locks)
  set(_objects)
  foreach(_room IN LISTS ARGN)
    vramstow_targets_below(${PROJECT_SOURCE_DIR}/${_room} _targets)
    foreach(_target IN LISTS _targets)
      get_target_property(_type ${_target} TYPE)
      if(NOT _type MATCHES "(STATIC|SHARED|OBJECT)_LIBRARY")
        continue()
      endif()
      _vramstow_adds_locks(${_target} _adds_locks)
      if(_adds_locks)
        list(APPEND _objects $<TARGET_OBJECTS:${_target}>)
      endif()
    endforeach()
  endforeach()
  add_custom_target(thread_safety DEPENDS ${_objects})
endfunction()
