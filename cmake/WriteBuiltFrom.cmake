# Writes the source file OUTPUT, which says from which commit the tree ROOT is built (`unknown`
# outside a checkout), and in which KIND. Without a change the file stays as it is, so that nothing
# is compiled again.
set(_commit unknown)
# A release that is unpacked inside somebody else's checkout is no part of it: only a folder at the
# top of its checkout has an empty prefix.
execute_process(COMMAND git -C ${ROOT} rev-parse --show-prefix HEAD
                OUTPUT_VARIABLE _said RESULT_VARIABLE _status ERROR_QUIET)
if(_status EQUAL 0 AND _said MATCHES "^\n([0-9a-f]+)\n$")
  string(SUBSTRING "${CMAKE_MATCH_1}" 0 12 _commit)
endif()
set(_text "#include \"tools/built_from.h\"

namespace vramstow {

const char* BuiltCommit() { return \"${_commit}\"; }

const char* BuiltKind() { return \"${KIND}\"; }

}  // namespace vramstow
")
set(_before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} _before)
endif()
if(NOT _text STREQUAL _before)
  file(WRITE ${OUTPUT} "${_text}")
endif()
