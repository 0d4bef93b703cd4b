# A room is a folder of the source tree with a target of its own. Code includes headers by their path
# from the top of the tree ("base/event.h"), so every room gets that one include directory; which
# rooms it may look into is said by the targets it links, and proved by tests/structure.
set(VRAMSTOW_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
                      -Wold-style-cast -Wimplicit-fallthrough -Wundef -Werror)

# Tuned for processors of all makes and ages g++ clears small structures with a repeated string
# instruction, which cost each event 2 ns. This changes no result and needs no newer processor.
set(VRAMSTOW_TUNING)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(VRAMSTOW_TUNING -mtune=skylake)
endif()

function(vramstow_options target)
  target_include_directories(${target} PRIVATE ${VRAMSTOW_ROOT})
  target_compile_options(${target} PRIVATE ${VRAMSTOW_TUNING})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${VRAMSTOW_WARNINGS}>)
endfunction()

# vramstow_together(target FILES): from so many of its files at a time one is made, which is compiled:
# most of the time to compile a file goes to the headers, which files of one room share. No two files
# of a target may then give one name to different things, not even in unnamed namespaces. What must be
# as fast as possible is left alone: more would be inlined there than was measured.
option(VRAMSTOW_TOGETHER "Compile several files of a room at a time" ON)
function(vramstow_together target files)
  if(VRAMSTOW_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    # What a file keeps to itself is no less its own where another file includes it.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# vramstow_room(name SOURCES … LINKS … [TOGETHER files]): a static library, one per room.
function(vramstow_room name)
  cmake_parse_arguments(ROOM "" "TOGETHER" "SOURCES;LINKS" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  vramstow_options(${name})
  if(ROOM_TOGETHER)
    vramstow_together(${name} ${ROOM_TOGETHER})
  endif()
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PUBLIC ${ROOM_LINKS})
endfunction()

# vramstow_test(name SOURCES … LINKS … [LABELS …] [TIMEOUT seconds] [TOGETHER files]): a GoogleTest
# program, known to ctest as one test. Debian's GoogleTest is used.
function(vramstow_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT;TOGETHER" "SOURCES;LINKS;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${TEST_SOURCES})
  vramstow_options(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(TEST_TOGETHER)
    vramstow_together(${name} ${TEST_TOGETHER})
  endif()
  # The code under test is optimised as it is installed; the tests themselves need to compile fast.
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  # ThreadSanitizer makes allocator_stream_test take 93 s of processor time instead of 2.
  if(VRAMSTOW_SANITIZE)
    math(EXPR TEST_TIMEOUT "4 * ${TEST_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()

# The target brings the C++ runtime along and needs the C library only. Where that is older than the
# compiler expects (cmake/OlderGlibc.cmake), the target gets what the runtime misses, in a file of its
# own: no other is compiled anew for it.
function(vramstow_own_runtime target)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
  check_symbol_exists(_dl_find_object dlfcn.h VRAMSTOW_LIBC_FINDS_OBJECTS)
  if(VRAMSTOW_SYSROOT OR NOT VRAMSTOW_LIBC_FINDS_OBJECTS)
    target_sources(${target} PRIVATE ${VRAMSTOW_ROOT}/base/older_libc.cc)
    set_source_files_properties(${VRAMSTOW_ROOT}/base/older_libc.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_link_options(${target} PRIVATE -Wl,--wrap=_dl_find_object)
  endif()
endfunction()

# What goes into a foreign process must not need, or show, a C++ runtime: libstdc++ and libgcc are
# linked in, and a version script hides all but the names that are meant.
function(vramstow_preloaded target version_script)
  vramstow_own_runtime(${target})
  target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-z,defs -Wl,--version-script=${version_script})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${version_script})
endfunction()

# All targets of the folder and of those below it.
function(vramstow_targets_below folder result)
  get_property(_targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(_folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(_below IN LISTS _folders)
    vramstow_targets_below(${_below} _more)
    list(APPEND _targets ${_more})
  endforeach()
  set(${result} ${_targets} PARENT_SCOPE)
endfunction()
