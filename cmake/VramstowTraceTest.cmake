# vramstow_add_trace_test() adds a test that runs a command under vramstow and checks how the
# command used device memory.
#
#   include(VramstowTraceTest)
#   vramstow_add_trace_test(
#     NAME training_fits
#     COMMAND python train.py --steps 3
#     SIMULATE h100                        # leave it out to run on the machine's own device
#     ASSERT "peak_reserved <= 2GiB" "out_of_memory == 0"
#     BASELINE ${CMAKE_CURRENT_SOURCE_DIR}/training.json TOLERANCE 5%
#     TIMEOUT 600 LABELS memory)
#
# The test fails if the command fails, or if an assertion or the baseline does not hold; `vramstow
# check` then prints a sentence with the reason. ASSERT and BASELINE are those of `vramstow check`;
# at least one of them is required. RUN_FLAGS are further flags of `vramstow run`. The traces remain
# in the build folder, under vramstow-traces/NAME, until the next run. VRAMSTOW_PROGRAM names the
# program if it is not on the PATH.
set(_vramstow_trace_test_script ${CMAKE_CURRENT_LIST_DIR}/VramstowRunTraceTest.cmake)

function(vramstow_add_trace_test)
  cmake_parse_arguments(PARSE_ARGV 0 TEST "" "NAME;SIMULATE;BASELINE;TOLERANCE;TIMEOUT"
                        "COMMAND;ASSERT;RUN_FLAGS;LABELS")
  if(TEST_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vramstow_add_trace_test: what is '${TEST_UNPARSED_ARGUMENTS}'?")
  endif()
  if(NOT TEST_NAME OR NOT TEST_COMMAND)
    message(FATAL_ERROR "vramstow_add_trace_test needs NAME and COMMAND.")
  endif()
  if(NOT TEST_ASSERT AND NOT TEST_BASELINE)
    message(FATAL_ERROR "vramstow_add_trace_test: ${TEST_NAME} needs ASSERT or BASELINE.")
  endif()
  find_program(VRAMSTOW_PROGRAM vramstow REQUIRED)
  set(_run ${TEST_RUN_FLAGS})
  if(TEST_SIMULATE)
    list(APPEND _run --simulate=${TEST_SIMULATE})
  endif()
  set(_check)
  foreach(_assertion IN LISTS TEST_ASSERT)
    list(APPEND _check --assert ${_assertion})
  endforeach()
  if(TEST_BASELINE)
    list(APPEND _check --baseline ${TEST_BASELINE})
  endif()
  if(TEST_TOLERANCE)
    list(APPEND _check --tolerance ${TEST_TOLERANCE})
  endif()
  add_test(NAME ${TEST_NAME}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=${VRAMSTOW_PROGRAM} "-DRUN=${_run}" "-DCHECK=${_check}"
            "-DJOB=${TEST_COMMAND}"
            -DTRACES=${CMAKE_CURRENT_BINARY_DIR}/vramstow-traces/${TEST_NAME}
            -P ${_vramstow_trace_test_script})
  if(TEST_TIMEOUT)
    set_tests_properties(${TEST_NAME} PROPERTIES TIMEOUT ${TEST_TIMEOUT})
  endif()
  if(TEST_LABELS)
    set_tests_properties(${TEST_NAME} PROPERTIES LABELS "${TEST_LABELS}")
  endif()
endfunction()
