# Lists the targets that must be built before a test can run, for `tests/run --only`:
# BUILD/test-targets.txt has one line for each test, "TEST: TARGET …".
#
# A test that is a program needs that program. Every other test (a script) needs the target
# `product`, which builds everything that is installed, and the programs of its own folder that are
# no tests. vramstow_test_needs() adds further targets to a test, or declares with NOTHING that it
# needs none of these.

# Call it as vramstow_test_needs(TEST… TARGETS target…) or as vramstow_test_needs(TEST… NOTHING).
function(vramstow_test_needs)
  cmake_parse_arguments(NEEDS "NOTHING" "" "TARGETS" ${ARGN})
  foreach(_test IN LISTS NEEDS_UNPARSED_ARGUMENTS)
    set_property(GLOBAL PROPERTY VRAMSTOW_NEEDS_${_test} "${NEEDS_TARGETS}")
    set_property(GLOBAL PROPERTY VRAMSTOW_NEEDS_NOTHING_${_test} ${NEEDS_NOTHING})
  endforeach()
endfunction()

# Defines the target `product`: all targets of the given folders that the default build builds.
function(vramstow_product_target)
  add_custom_target(product)
  foreach(_folder IN LISTS ARGN)
    vramstow_targets_below(${PROJECT_SOURCE_DIR}/${_folder} _targets)
    foreach(_target IN LISTS _targets)
      get_target_property(_excluded ${_target} EXCLUDE_FROM_ALL)
      get_target_property(_type ${_target} TYPE)
      if(NOT _excluded AND NOT _type STREQUAL "INTERFACE_LIBRARY")
        add_dependencies(product ${_target})
      endif()
    endforeach()
  endforeach()
endfunction()

function(_vramstow_folder_test_targets folder)
  get_property(_tests DIRECTORY ${folder} PROPERTY TESTS)
  get_property(_programs DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  set(_scripts ${_tests})
  list(REMOVE_ITEM _scripts ${_programs} "")
  list(REMOVE_ITEM _programs ${_tests} "")
  foreach(_test IN LISTS _tests)
    get_property(_more GLOBAL PROPERTY VRAMSTOW_NEEDS_${_test})
    get_property(_nothing GLOBAL PROPERTY VRAMSTOW_NEEDS_NOTHING_${_test})
    set(_needs ${_more})
    if(NOT _test IN_LIST _scripts)
      list(PREPEND _needs ${_test})
    elseif(NOT _nothing)
      list(PREPEND _needs product ${_programs})
    endif()
    list(JOIN _needs " " _needs)
    file(APPEND ${PROJECT_BINARY_DIR}/test-targets.txt "${_test}: ${_needs}\n")
  endforeach()
  get_property(_folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(_below IN LISTS _folders)
    _vramstow_folder_test_targets(${_below})
  endforeach()
endfunction()

# Writes BUILD/test-targets.txt. Call it after all tests have been added.
function(vramstow_write_test_targets folder)
  file(WRITE ${PROJECT_BINARY_DIR}/test-targets.txt "")
  _vramstow_folder_test_targets(${folder})
endfunction()
