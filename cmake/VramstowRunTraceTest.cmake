# The two steps of a test of vramstow_add_trace_test(): run, then check. Lists: RUN, CHECK, JOB.
file(REMOVE_RECURSE ${TRACES})
file(MAKE_DIRECTORY ${TRACES})
# For fixtures in the command (vramstow/gtest.h).
set(ENV{VRAMSTOW_PROGRAM} ${PROGRAM})
execute_process(COMMAND ${PROGRAM} run ${RUN} --trace-dir ${TRACES} -- ${JOB}
                RESULT_VARIABLE _result)
if(NOT _result STREQUAL "0")
  message(FATAL_ERROR "The command failed: ${_result}.")
endif()
execute_process(COMMAND ${PROGRAM} check ${TRACES} ${CHECK} RESULT_VARIABLE _result)
if(NOT _result STREQUAL "0")
  message(FATAL_ERROR "What the command did with memory is not as the test wants it.")
endif()
