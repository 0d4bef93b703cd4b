# cmake -DFOLDER=… -DOUTPUT=… -DSCRIPTS=… -P embed.cmake: the page's files as C++ literals. Lines of the
# scripts that contain only a comment are left out, because no reader of a page needs them.
function(embed name out)
  set(_text "")
  foreach(_file ${ARGN})
    file(READ ${FOLDER}/${_file} _content)
    if(_file MATCHES "[.]js$")
      string(REGEX REPLACE "\n *//[^\n]*" "" _content "\n${_content}")
    endif()
    string(APPEND _text "${_content}")
  endforeach()
  set(${out} "const char* const ${name} = R\"vramstow(${_text})vramstow\";\n" PARENT_SCOPE)
endfunction()

embed(kPageTemplate _template page.html)
embed(kPageStyle _style page.css)
embed(kPageScript _script ${SCRIPTS})
file(WRITE ${OUTPUT} "#include \"tools/report/page_assets.h\"\n\nnamespace vramstow {\n\n${_template}\n${_style}\n${_script}\n}  // namespace vramstow\n")
