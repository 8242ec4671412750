#include "src/evaluator/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>

#include "src/base/files.h"
#include "src/evaluator/text.h"

namespace tik::evaluator {
namespace {

// The value of the first "KEY : VALUE" line of /proc/cpuinfo.
std::string processor_field(std::string const& text, std::string const& key) {
  std::size_t const at = text.find(key);
  if (at == std::string::npos) return {};
  std::size_t const colon = text.find(": ", at), end = text.find('\n', at);
  if (colon == std::string::npos || colon > end) return {};
  return text.substr(colon + 2, end - colon - 2);
}

// Compilers leave their name in the .comment section: "GCC: (Debian 12.2.0-14) 12.2.0".
std::string compiler_of(std::filesystem::path const& library) {
  Result<std::string> const bytes = read_file(library);
  if (!bytes) return {};
  for (std::string_view const mark : {"GCC: (", "clang version "}) {
    std::size_t const at = bytes->find(mark);
    if (at != std::string::npos) return valid_utf8(std::string_view(bytes->c_str() + at).substr(0, 120));
  }
  return {};
}

} // namespace

Json describe_machine(std::filesystem::path const& library) {
  Json machine = Json::object();
  if (Result<std::string> const text = read_file("/proc/cpuinfo"))
    machine["processor"] = valid_utf8(processor_field(*text, "model name"));
  machine["processors"] = sysconf(_SC_NPROCESSORS_ONLN);
  utsname names{};
  if (uname(&names) == 0)
    machine["kernel"] = valid_utf8(std::string(names.sysname) + " " + names.release + " " + names.machine);
  double load[1] = {};
  if (getloadavg(load, 1) == 1) machine["load_average"] = load[0];
  if (!library.empty()) machine["compiler"] = compiler_of(library);
  return machine;
}

} // namespace tik::evaluator
