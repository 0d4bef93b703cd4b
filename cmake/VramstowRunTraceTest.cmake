# Executes the two steps of a test of vramstow_add_trace_test(): `vramstow run`, then `vramstow
# check`. RUN, CHECK and JOB are lists of arguments.
file(REMOVE_RECURSE ${TRACES})
file(MAKE_DIRECTORY ${TRACES})
# Fixtures in the command (vramstow/gtest.h) read this variable.
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
