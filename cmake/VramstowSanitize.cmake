# VRAMSTOW_SANITIZE is address,undefined or thread: everything is built with these sanitizers.
set(VRAMSTOW_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them")
if(VRAMSTOW_SANITIZE)
  add_compile_options(-fsanitize=${VRAMSTOW_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${VRAMSTOW_SANITIZE})
endif()

# `tests/run --coverage` reports these counts: each process adds its own to a file beside the
# object.
option(VRAMSTOW_COVERAGE "Count which lines are reached (gcov)" OFF)
if(VRAMSTOW_COVERAGE)
  # Several threads count at the same time, so the counters are updated atomically.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
