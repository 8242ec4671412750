// The candidate's library, loaded into a worker.
#pragma once

#include <array>

#include "src/evaluator/wire.h"

namespace tik::evaluator {

class LoadedLibrary {
 public:
  using Entry = tik_status (*)(tik_attention_args const*);

  Reply load(LoadRequest const& request);
  Reply workspace(WorkspaceRequest const& request) const;
  // Null when nothing is loaded.
  Entry entry(spec::WorkloadKind kind) const { return entries_[static_cast<std::size_t>(kind) % entries_.size()]; }
  // The sentence of tik_attention_last_error(), cut.
  std::string last_error() const;

 private:
  std::array<Entry, 3> entries_{}; // in the order of spec::WorkloadKind
  int64_t (*workspace_)(tik_attention_shape const*, tik_attention_limits const*) = nullptr;
  char const* (*last_error_)() = nullptr;
};

// Applies `resolve` to every pointer of `args`, whatever it points to.
template <class Resolve>
void for_each_pointer(tik_attention_args& args, Resolve resolve) {
  resolve(args.queries);
  resolve(args.query_offsets);
  resolve(args.kv.keys);
  resolve(args.kv.values);
  resolve(args.kv.page_table);
  resolve(args.kv_lengths);
  resolve(args.out);
  resolve(args.lse);
  resolve(args.workspace);
}

} // namespace tik::evaluator
