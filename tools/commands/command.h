// The commands of the program; each has a file of its own.
//
// Each takes the arguments after its name and returns the program's exit status: 0 on success; 2
// for wrong arguments and input that cannot be used, after one sentence on stderr; 1 if the result
// could not be written. RunCommand ends like the command that it ran.
#ifndef VRAMSTOW_TOOLS_COMMANDS_COMMAND_H_
#define VRAMSTOW_TOOLS_COMMANDS_COMMAND_H_

#include <string>
#include <vector>

#include "tools/terminal/exit_status.h"

namespace vramstow {

int RunCommand(const std::vector<std::string>& arguments);
int AnalyzeCommand(const std::vector<std::string>& arguments);
int DiffCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if an assertion does not hold.
int CheckCommand(const std::vector<std::string>& arguments);
int ReportCommand(const std::vector<std::string>& arguments);
int ReplayCommand(const std::vector<std::string>& arguments);
int ExportCommand(const std::vector<std::string>& arguments);
int CollectCommand(const std::vector<std::string>& arguments);
int ConvertCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if nothing fits.
int FitCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if nothing fits.
int PlanCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if a job fails or does not fit.
int ShareCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if a smaller share is aligned than was required.
int FidelityCommand(const std::vector<std::string>& arguments);
// The exit status is also 2 if the process cannot be entered.
int AttachCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if the process refuses.
int CtlCommand(const std::vector<std::string>& arguments);
int TopCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if an adapter cannot be built.
int AdapterCommand(const std::vector<std::string>& arguments);
// The exit status is also 1 if a requested feature will not work.
int DoctorCommand(const std::vector<std::string>& arguments);
int CompletionCommand(const std::vector<std::string>& arguments);
// Prints a page of the documentation that is generated from the program's own tables. It is not in
// --help.
int DocsCommand(const std::vector<std::string>& arguments);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_COMMAND_H_
