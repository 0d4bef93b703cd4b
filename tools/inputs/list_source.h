// EventListSource passes the EventList of a foreign file to the analysis as events.
//
// Ownership: owns the list. Threads: one at a time. Errors: none; missing() describes what the file
// lacks. Units: bytes, nanoseconds since the file's first event.
#ifndef VRAMSTOW_TOOLS_INPUTS_LIST_SOURCE_H_
#define VRAMSTOW_TOOLS_INPUTS_LIST_SOURCE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/accounts/event_source.h"
#include "tools/formats/event_list.h"

namespace vramstow {

class EventListSource : public EventSource {
 public:
  EventListSource(std::string_view kind, EventList list);

  bool Next(Event* event) override;
  std::string_view CallName(uint16_t call) const override { return list_.CallName(call); }
  std::string_view LibraryPath(uint16_t) const override { return "unknown"; }
  std::string_view MarkText(const Event& mark) const override;
  const std::map<std::string, std::string>& facts() const override { return list_.facts; }
  ReadReport report() const override;
  std::string_view Kind() const override { return kind_; }
  std::optional<uint16_t> OpeningCall() const override { return opening_call_; }
  std::optional<uint64_t> Reserved() const override;
  std::vector<std::string> missing() const override { return missing_; }

 private:
  std::string kind_;
  EventList list_;
  std::vector<std::string> missing_;
  std::optional<uint16_t> opening_call_;
  uint64_t opening_events_ = 0;
  size_t next_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_LIST_SOURCE_H_
