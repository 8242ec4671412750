// The build stage: from a source folder to a shared library, compiled in containment.
#pragma once

#include "src/evaluator/failure.h"
#include "src/evaluator/process.h"
#include "src/spec/manifest.h"

namespace tik::evaluator {

struct BuildPlan {
  std::filesystem::path source; // a private copy of the candidate's folder
  std::string source_sha256;
  std::filesystem::path scratch;     // without a cache, the built library is kept below it
  std::filesystem::path build_cache; // may be empty
  Layers layers;
  spec::ProcessLimits limits;
  std::atomic<bool> const* cancel = nullptr;
};

struct Built {
  std::filesystem::path folder; // holds the library and nothing else
  std::string library_name;
  std::string library_sha256;
  Json details = Json::object(); // command, log, resource usage, whether it came from the cache
  Evidence remarks;              // what the compiler said about its loops: the evidence "compiler"
};

// Compiles, or takes the library of the same source, compiler and contract from the cache.
Checked<Built> build(BuildPlan const& plan, spec::Manifest const& manifest);

} // namespace tik::evaluator
