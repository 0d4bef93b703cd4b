// Topics: the texts that `vramstow help TOPIC` prints on subjects that concern more than one
// command.
//
// Ownership: static. Threads: callable from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_TOPICS_H_
#define VRAMSTOW_TOOLS_COMMANDS_TOPICS_H_

#include <string_view>
#include <vector>

namespace vramstow {

struct Topic {
  const char* name;
  const char* text;
};

// Returns the topics in the order in which a beginner needs them.
const std::vector<Topic>& AllTopics();
// Returns the topic with this name, or null if there is none.
const Topic* FindTopic(std::string_view name);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_TOPICS_H_
