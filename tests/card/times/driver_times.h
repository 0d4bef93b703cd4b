// Measures how long driver calls take on a GPU, and compares this with the times that the
// simulator's virtual clock assumes (clock=model).
//
// Idea: each operation for which card_model.cc has a number is executed several times, and the
// median is used: runs of one large handle and of many small ones, access with and without the
// host, copies over PCIe or NVLink, page-locked memory. On a simulated GPU with clock=model the
// same calls are timed by its virtual clock, and give the model's own values.
//
// Ownership: values. Threads: one. Errors: one sentence. Units: as each row says; bytes.
#ifndef VRAMSTOW_TESTS_CARD_TIMES_DRIVER_TIMES_H_
#define VRAMSTOW_TESTS_CARD_TIMES_DRIVER_TIMES_H_

#include <string>
#include <vector>

namespace vramstow::card {

struct DriverTime {
  std::string name;
  const char* unit = "";
  double measured = 0;
  double modelled = 0;
};

// The clock by which the times were measured.
enum class TimeSource {
  kCard,     // this machine's clock, with a real GPU
  kModel,    // the virtual clock of a simulated GPU
  kMachine,  // this machine's clock with a simulated GPU: no times of a GPU
};
const char* NameOf(TimeSource source);

struct DriverTimes {
  TimeSource source = TimeSource::kCard;
  std::string model_card;  // key of the modelled GPU, as in a SPEC
  std::vector<DriverTime> rows;
  std::string why_not_all;  // one sentence if rows are missing
};

// Measures all rows. `library` is the driver, in the form that dlopen accepts. Returns false and
// sets *error on failure.
bool MeasureDriverTimes(const char* library, DriverTimes* times, std::string* error);

}  // namespace vramstow::card

#endif  // VRAMSTOW_TESTS_CARD_TIMES_DRIVER_TIMES_H_
