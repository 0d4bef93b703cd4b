# A room is a folder of the source tree with a target of its own. Code includes headers by their
# path from the top of the tree ("base/event.h"), so every room gets that one include directory. A
# room may include only headers of the targets that it links; tests/structure checks that.
set(VRAMSTOW_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
                      -Wold-style-cast -Wimplicit-fallthrough -Wundef -Werror)

# With its generic tuning, g++ clears small structures with a repeated string instruction, which
# cost 2 ns for each event. This option changes no result and needs no newer processor.
set(VRAMSTOW_TUNING)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(VRAMSTOW_TUNING -mtune=skylake)
endif()

function(vramstow_options target)
  target_include_directories(${target} PRIVATE ${VRAMSTOW_ROOT})
  target_compile_options(${target} PRIVATE ${VRAMSTOW_TUNING})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${VRAMSTOW_WARNINGS}>)
endfunction()

# vramstow_together(target FILES) compiles that number of the target's files as one, because most of
# the time to compile a file is spent on headers, which the files of one room share. So two files of
# a target must not use one name for different things, not even in unnamed namespaces. Targets whose
# speed matters are compiled file by file: otherwise the compiler would inline more than in the
# builds that were measured.
option(VRAMSTOW_TOGETHER "Compile several files of a room at a time" ON)
function(vramstow_together target files)
  if(VRAMSTOW_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
    # g++ warns if a file that is included has unnamed namespaces; here such a file is compiled only
    # once.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# vramstow_room(name SOURCES … LINKS … [TOGETHER files]) defines the static library of a room.
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

# vramstow_test(name SOURCES … LINKS … [LABELS …] [TIMEOUT seconds] [TOGETHER files]) defines a
# GoogleTest program, which is one test of ctest. Debian's GoogleTest is used.
function(vramstow_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT;TOGETHER" "SOURCES;LINKS;LABELS" ${ARGN})
  find_package(GTest REQUIRED NO_SYSTEM_ENVIRONMENT_PATH)
  add_executable(${name} ${TEST_SOURCES})
  vramstow_options(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(TEST_TOGETHER)
    vramstow_together(${name} ${TEST_TOGETHER})
  endif()
  # The tested libraries are optimised as in an installation; the tests themselves are not, so that
  # they compile fast.
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

# Links the C++ runtime into the target, which then needs only the C library. If the C library is
# older than the compiler expects (cmake/OlderGlibc.cmake), the target also gets a file with the
# functions that the runtime misses; no other file must be compiled again for it.
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

# A library that is loaded into a foreign process must not need or export a C++ runtime. So
# libstdc++ and libgcc are linked in, and a version script hides all names except those that are
# exported on purpose.
function(vramstow_preloaded target version_script)
  vramstow_own_runtime(${target})
  target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-z,defs -Wl,--version-script=${version_script})
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${version_script})
endfunction()

# Returns all targets of the folder and of its subfolders.
function(vramstow_targets_below folder result)
  get_property(_targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(_folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(_below IN LISTS _folders)
    vramstow_targets_below(${_below} _more)
    list(APPEND _targets ${_more})
  endforeach()
  set(${result} ${_targets} PARENT_SCOPE)
endfunction()
