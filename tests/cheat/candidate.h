// A hostile candidate: the root's folder with a few changes, and the outcome that it must have.
//
// tests/cheat/candidates/NAME/ holds candidate.toml and files that are laid over the root's:
//   cheat.cpp  stands before the entry points (candidates/wrap.h says how)
//   build.sh   runs before the root's build command, which it gets as its arguments
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/error.h"

namespace tik::cheat {

struct Edit {
  std::string file, find, replace; // `find` occurs exactly once
};

struct Link {
  std::string name, target;
};

struct Candidate {
  std::string name;
  std::filesystem::path folder;
  std::string what;                            // a sentence: what it tries
  bool honest = false;                         // the control: it must be verified and measured
  bool harmless = false;                       // it may be verified, but must gain nothing over the root
  std::vector<std::string> stages;             // the stage where it must end, one of these
  std::string words;                           // in the message of that stage
  std::string evidence;                        // words that the dispatch evidence must have among its differences
  std::vector<std::string> needs;              // layers of protection that contain it; where one is off it is not tried
  double run_seconds = 20, build_seconds = 60; // limits
  bool hangs = false;                          // the stage must end within the limit and two seconds
  int rounds = 3;                              // of the measurement
  std::vector<Edit> edits;
  std::vector<Link> links;
};

// What a candidate's text may name, as @canary@ and @port@: a folder outside its own, open to everybody, and a port of this
// machine where somebody listens.
struct Surroundings {
  std::filesystem::path canary;
  int port = 0;
};

// Where candidates are tried: on the CPU, or on a GPU.
struct Ground {
  std::filesystem::path candidates, root, specification; // no specification: the small one of tests/evaluator
  std::string cheat_file;                                // "cheat.cpp"
  std::string last_source;                               // in the manifest's command, where that file is added
};
Ground cpu_ground(std::filesystem::path const& sources);
Ground gpu_ground(std::filesystem::path const& sources);

// Folders of all candidates, by name.
Result<std::vector<std::string>> candidate_names(std::filesystem::path const& folder);
Result<Candidate> load_candidate(std::filesystem::path const& folder, std::string const& name);

// Writes the root with the candidate's changes into `target`, which is made.
Result<void> write_candidate(Candidate const& candidate, Ground const& ground, Surroundings const& surroundings,
                             std::filesystem::path const& target);

} // namespace tik::cheat
