// Another host that audits, reached by a command.
#pragma once

#include <atomic>
#include <functional>

#include "src/evaluator/host_reports.h"

namespace tik::evaluator {

// How a host is reached: a command for /bin/sh.
//
// With {bundle} and {out} in it, the command finds the bundle in the file {bundle} and leaves the reports in the folder {out}
// (both are put in quoted). Without them it is how `tik` is started on the host ("ssh gpu tik"): its arguments are put behind
// it, the bundle goes to its standard input, and the reports come from its standard output; the host keeps finished reports in
// the folder tik-reports-HASH below the folder that the command starts in, so that a retry goes on where the connection broke.
struct HostCommand {
  std::string text;
  double seconds = 3600; // wall-clock limit of one try
  int tries = 3;
};

// An input error when the command has only one of the placeholders, or no words.
Result<void> check_host_command(HostCommand const& command);

struct HostTask {
  Bundle const& bundle;
  std::filesystem::path scratch;               // existing folder; a fresh one below it is used and removed
  std::function<void(std::string const&)> say; // a sentence for a person: why a try failed; may be empty
  std::atomic<bool> const* cancel = nullptr;   // ends the command and all it started
};

// Has every candidate of the bundle audited on the host. What the host sends is checked as any report is (answers()). A try
// fails when the command does, takes too long, or brings something else than the reports; after the last one that is a machine
// error with the command's last words. A host that refuses the bundle as bad input (exit code 2) is not asked again.
Result<std::vector<HostReport>> evaluate_on_host(HostCommand const& command, HostTask const& task);

} // namespace tik::evaluator
