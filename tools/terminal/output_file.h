// OutputFile: a file that the program was asked to write. Under its name there is all of it or what
// was there before, whatever comes in between: a full disk, Ctrl-C, the end of the machine.
//
// Idea: it is written without a name (open(2), O_TMPFILE) and gets one when it is finished, so that
// nothing is left of one that is not, however the program ends; where the file system has no such
// files, it is written beside. A path that is no regular file (a device, a pipe) is written as it
// is, and never replaced.
//
// Ownership: the file until Finish; an unfinished one is removed. Threads: one at a time. Errors:
// told by the result, errno says why. Units: none.
#ifndef VRAMSTOW_TOOLS_TERMINAL_OUTPUT_FILE_H_
#define VRAMSTOW_TOOLS_TERMINAL_OUTPUT_FILE_H_

#include <string>
#include <string_view>

namespace vramstow {

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { Abandon(); }

  bool Open(const std::string& path);
  int descriptor() const { return descriptor_; }
  // The text that was written is the file from now on.
  bool Finish();

 private:
  bool GiveName();
  void Abandon();

  int descriptor_ = -1;
  std::string path_;
  std::string beside_;  // empty: written as it is
  bool has_name_ = false;
};

// The whole file at once.
bool WriteOutputFile(const std::string& path, std::string_view text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_OUTPUT_FILE_H_
