// Topics: what `vramstow help TOPIC` prints of things that belong to more than one command.
//
// Ownership: static. Threads: any. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_TOPICS_H_
#define VRAMSTOW_TOOLS_COMMANDS_TOPICS_H_

#include <string_view>
#include <vector>

namespace vramstow {

struct Topic {
  const char* name;
  const char* text;
};

// In the order in which a newcomer meets them.
const std::vector<Topic>& AllTopics();
// Null: there is none of this name.
const Topic* FindTopic(std::string_view name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_TOPICS_H_
