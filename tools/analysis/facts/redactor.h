// Redactor: removes from texts what reveals who ran a job, and where.
//
// Idea: an allow-list says what may be shown. Of a path, only the file's name remains. A command
// line keeps the program, the script, the names of options and numbers. The facts that a trace has
// about itself remain unchanged only under keys that are known to be harmless. All other text is
// searched for the known names of hosts and users: those of this machine, the trace's host, and the
// owner of each home folder in a path. Redacted text becomes "***".
//
// A name that is not known (for example a host's name in a mark of the program) is not redacted.
//
// Ownership: the results are copies. Threads: used by one thread at a time. Errors: none. Units:
// none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_REDACTOR_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_REDACTOR_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/analysis/facts/detail.h"

namespace vramstow {

class Redactor {
 public:
  // Returns a redactor that has the names of this machine, of its user and of the current folder.
  static Redactor OfThisMachine();

  // Adds the name of a host or a user.
  void LearnName(std::string_view name);
  // Adds a folder, absolute or not; for a home folder, also the name of its owner.
  void LearnFolder(std::string_view folder);
  // Adds the folder of a file.
  void LearnFile(std::string_view path);
  // Adds the names of hosts, users and folders in these facts.
  void Learn(const std::map<std::string, std::string>& facts);
  void Learn(const Facts& facts);
  void Learn(const FactSet& set);

  // The function Path reduces a path to the name of the file. The function Text removes paths and
  // known names from other texts.
  std::string Path(std::string_view path) const;
  std::string Text(std::string_view text) const;
  std::string Command(std::string_view command) const;
  // Returns the redacted facts that a trace has about itself.
  std::map<std::string, std::string> TraceFacts(
      const std::map<std::string, std::string>& facts) const;

  void Redact(FactSet* set) const;
  void Redact(Facts* facts) const;
  void Redact(Detail* detail) const;

 private:
  std::string WithoutNames(std::string text) const;
  std::string WithoutFolders(std::string text) const;

  // The names to redact, in lower case, the longest first.
  std::vector<std::string> names_;
  std::vector<std::string> folders_;  // without a slash at the end, the longest first
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_REDACTOR_H_
