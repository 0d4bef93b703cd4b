# Runs the scripts of this folder at build time, which write files from CUDA's headers.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(_generate ${CMAKE_CURRENT_LIST_DIR})
set(_include_options)
foreach(_directory ${CudaHeaders_DIRECTORIES})
  list(APPEND _include_options --include ${_directory})
endforeach()

# vramstow_generate(SCRIPT name.py OUTPUT file… DEPENDS file… ARGUMENTS …)
# Runs a script, which reads the headers in CudaHeaders_DIRECTORIES.
function(vramstow_generate)
  cmake_parse_arguments(GENERATE "" "SCRIPT" "OUTPUT;DEPENDS;ARGUMENTS" ${ARGN})
  add_custom_command(
    OUTPUT ${GENERATE_OUTPUT}
    COMMAND Python3::Interpreter -B ${_generate}/${GENERATE_SCRIPT} ${_include_options}
            ${GENERATE_ARGUMENTS}
    DEPENDS ${_generate}/${GENERATE_SCRIPT} ${_generate}/cuda_headers.py ${GENERATE_DEPENDS}
            ${CudaHeaders_DIRECTORY}/cuda.h
    VERBATIM)
endfunction()

# vramstow_library_names(target LIST names.txt PREFIX pattern HEADERS … TABLE file
#                        [SCRIPTS node file …])
# Writes the table of a library's names as SYMBOL(name) lines, and its version scripts. `target` is
# the build target for them.
function(vramstow_library_names target)
  cmake_parse_arguments(NAMES "" "LIST;PREFIX;TABLE" "HEADERS;SCRIPTS" ${ARGN})
  set(_list ${CMAKE_CURRENT_SOURCE_DIR}/${NAMES_LIST})
  set(_arguments --list ${_list} --prefix ${NAMES_PREFIX} --table ${NAMES_TABLE})
  foreach(_header ${NAMES_HEADERS})
    list(APPEND _arguments --header ${_header})
  endforeach()
  set(_outputs ${NAMES_TABLE})
  while(NAMES_SCRIPTS)
    list(POP_FRONT NAMES_SCRIPTS _node _script)
    # A node without a name is written as a dash, because a list cannot hold an empty text.
    list(APPEND _arguments --script ${_node} ${_script})
    list(APPEND _outputs ${_script})
  endwhile()
  vramstow_generate(SCRIPT library_names.py OUTPUT ${_outputs} DEPENDS ${_list}
                    ARGUMENTS ${_arguments})
  add_custom_target(${target} DEPENDS ${_outputs})
endfunction()
