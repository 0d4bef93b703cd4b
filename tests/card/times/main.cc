// `driver_times [LIBRARY]` prints the times of driver calls as one line of JSON.
#include <stdio.h>

#include "tests/card/times/driver_times.h"

int main(int count, char** arguments) {
  vramstow::card::DriverTimes times;
  std::string error;
  const char* library = count > 1 ? arguments[1] : "libcuda.so.1";
  if (!vramstow::card::MeasureDriverTimes(library, &times, &error)) {
    fprintf(stderr, "driver_times: %s\n", error.c_str());
    return 1;
  }
  printf(R"({"clock": "%s", "model_card": "%s", "times": [)", NameOf(times.source),
         times.model_card.c_str());
  const char* between = "";
  for (const auto& row : times.rows) {
    printf(R"(%s{"name": "%s", "unit": "%s", "measured": %.9g, "modelled": %.9g})", between,
           row.name.c_str(), row.unit, row.measured, row.modelled);
    between = ", ";
  }
  printf(R"(], "why_not_all": "%s"})"
         "\n",
         times.why_not_all.c_str());
  return 0;
}
