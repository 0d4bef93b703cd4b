# Writes what `vramstow docs metrics` prints to PAGE, from the line that says that it is made.
execute_process(COMMAND ${PROGRAM} docs metrics OUTPUT_VARIABLE made COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} page)
string(FIND "${page}" "<!-- Made by `vramstow docs metrics`" place)
if(place EQUAL -1)
  message(FATAL_ERROR "${PAGE} has no line from which on it is made.")
endif()
string(SUBSTRING "${page}" 0 ${place} written)
file(WRITE ${PAGE} "${written}${made}")
