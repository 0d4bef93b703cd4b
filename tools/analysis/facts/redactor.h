// Redactor: takes out of texts what tells who ran a job, and where.
//
// Idea: what may stay is said, and not what must go. A path keeps its file's name only. A command
// line keeps the program, the script, the names of options and numbers. The facts that a trace has
// of itself stay as they are only under keys that are known to be harmless. The rest is searched
// for the names of hosts and users that are known: those of this machine, the trace's host, and the
// owner of each home folder in a path. A text that is taken out becomes "***".
//
// A name that nobody could know of (a host's name in a mark of the program) stays.
//
// Ownership: results are copies. Threads: one at a time. Errors: none. Units: none.
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
  // Knows the names of this machine, of its user and of the current folder.
  static Redactor OfThisMachine();

  // A host or a user.
  void LearnName(std::string_view name);
  // A folder, absolute or not; of a home folder its owner, too.
  void LearnFolder(std::string_view folder);
  // The path of a file: its folder.
  void LearnFile(std::string_view path);
  // Learns the names of hosts, users and folders that these facts have.
  void Learn(const std::map<std::string, std::string>& facts);
  void Learn(const Facts& facts);
  void Learn(const FactSet& set);

  // A path becomes the file's name; other texts lose paths and known names.
  std::string Path(std::string_view path) const;
  std::string Text(std::string_view text) const;
  std::string Command(std::string_view command) const;
  // The facts that a trace has of itself.
  std::map<std::string, std::string> TraceFacts(
      const std::map<std::string, std::string>& facts) const;

  void Redact(FactSet* set) const;
  void Redact(Facts* facts) const;
  void Redact(Detail* detail) const;

 private:
  std::string WithoutNames(std::string text) const;
  std::string WithoutFolders(std::string text) const;

  // Lower case, the longest first.
  std::vector<std::string> names_;
  std::vector<std::string> folders_;  // without a slash at the end, the longest first
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_REDACTOR_H_
