#include "tools/inputs/list_source.h"

#include <utility>

#include "base/typed_event.h"

namespace vramstow {

EventListSource::EventListSource(std::string_view kind, EventList list)
    : kind_(kind), list_(std::move(list)) {
  for (size_t call = 1; call < list_.calls.size(); ++call) {
    if (list_.calls[call] == "window_start") opening_call_ = static_cast<uint16_t>(call);
  }
  for (const Event& event : list_.events) {
    if (opening_call_.has_value() && event.call == *opening_call_) ++opening_events_;
  }
  for (const std::string& text : list_.missing) {
    missing_.push_back(text.ends_with('.') ? text : text + ".");
  }
}

bool EventListSource::Next(Event* event) {
  if (next_ == list_.events.size()) return false;
  *event = list_.events[next_++];
  return true;
}

std::optional<uint64_t> EventListSource::Reserved() const {
  const auto known = list_.reserved.find(list_.events[next_ - 1].sequence);
  if (known == list_.reserved.end()) return std::nullopt;
  return known->second;
}

std::string_view EventListSource::MarkText(const Event& mark) const {
  const uint64_t number = TextNumber(mark);
  return number < list_.texts.size() ? std::string_view(list_.texts[number]) : "";
}

ReadReport EventListSource::report() const {
  ReadReport report;
  report.events = list_.events.size() - opening_events_;
  report.closed = list_.complete;
  return report;
}

}  // namespace vramstow
