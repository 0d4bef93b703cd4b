#include "tools/commands/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/commands/command.h"
#include "tools/report/words.h"
#include "tools/terminal/output.h"

namespace vramstow {

std::optional<int> ReadArguments(CLI::App* app, const std::string& command,
                                 const std::vector<std::string>& arguments) {
  app->name("vramstow " + command);
  app->set_help_flag("-h,--help", "This text");
  // CLI11 takes them from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  std::string what;
  try {
    app->parse(reversed);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return PrintResult(command, app->help() + "\n");
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app->remaining();
    what = absl::StrCat("unknown argument '", extras.empty() ? "" : Printable(extras.front()), "'");
  } catch (const CLI::ParseError& error) {
    what = Printable(error.what());
    // A flag that is not there tells more than what is missing because of it.
    for (const std::string& extra : app->remaining()) {
      if (!extra.starts_with('-')) continue;
      what = absl::StrCat("unknown argument '", Printable(extra), "'");
      break;
    }
  }
  Complain(command, absl::StrCat(what, "; see vramstow ", command, " --help."));
  return kExitUsage;
}

}  // namespace vramstow
