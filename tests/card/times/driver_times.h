// What calls of the driver take on a card, beside what the simulator's clock assumes (clock=model).
//
// Idea: each thing that card_model.cc has a figure for is done some times, and the median is kept:
// runs of one large handle and of many small ones, access with and without the host, copies over
// the link, page-locked memory. On a simulated card with clock=model the same calls are timed by
// its clock, and give the model's own values.
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

// Whose clock the times are by.
enum class TimeSource {
  kCard,     // this machine's, beside a real card
  kModel,    // that of a simulated card
  kMachine,  // this machine's, where the card is simulated: it says nothing of a card
};
const char* NameOf(TimeSource source);

struct DriverTimes {
  TimeSource source = TimeSource::kCard;
  std::string model_card;  // whose model it is, as in a SPEC
  std::vector<DriverTime> rows;
  std::string why_not_all;  // one sentence where rows are missing
};

// `library` is the driver, as dlopen takes it. False: *error says why.
bool MeasureDriverTimes(const char* library, DriverTimes* times, std::string* error);

}  // namespace vramstow::card

#endif  // VRAMSTOW_TESTS_CARD_TIMES_DRIVER_TIMES_H_
