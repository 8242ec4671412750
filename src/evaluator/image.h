// A call laid out in a session's shared memory: tensors at random places with guard zones, unused cache poisoned with NaN,
// outputs poisoned before the call and everything around them checked after it.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "src/evaluator/dataset.h"
#include "src/evaluator/session.h"

namespace tik::evaluator {

// Query tokens first .. first + count - 1 of one sequence; the cache holds all tokens before first + count.
struct Rows {
  int sequence = 0;
  int first = 0;
  int count = 0;
};

// What to call, apart from where the buffers lie.
struct CallShape {
  spec::WorkloadKind kind = spec::WorkloadKind::full;
  std::vector<Rows> rows; // one a sequence of the call
  spec::KvLayout layout = spec::KvLayout::packed;
  int page_size = 0;
  bool dense = false; // measured calls: no padding between rows, buffers at cache lines
};

// The rows that a call returned, in the order of CallShape::rows: [rows, query_heads, head_dim] and [rows, query_heads].
struct Outputs {
  Tensor<tik_bf16> out;
  Tensor<float> lse;
  // By the worker's own clocks, and the same two from outside it.
  double reported_cpu_us = 0, reported_wall_us = 0, cpu_us = 0, outside_us = 0;
};

// What a place is for: queries, keys and values; lengths, offsets and tables; the workspace; outputs with their guards.
enum class Part { values, indices, workspace, results };

// Hands out places in the two regions of a session: inputs one after another in the one, the rest in the other.
class Arena {
 public:
  explicit Arena(Session& session);
  // For workloads that lie over each other: the first `value_bytes` of the inputs hold drawn values, which are taken as they
  // are, and the last `result_bytes` of the outputs are for results. rewind() begins both again.
  Arena(Session& session, std::size_t value_bytes, std::size_t result_bytes);
  // Whether queries, keys and values are there before they are placed.
  bool drawn() const { return drawn_; }
  // Begins drawn values and results again, the values at a random place.
  void rewind(Random& random);
  // Forgets everything placed so far.
  void clear();
  // An offset for `bytes` bytes, at a random distance from what was placed before; nothing when there is no room.
  std::optional<std::size_t> place(Part part, std::size_t bytes, std::size_t alignment, Random& random);
  std::span<std::byte> bytes(Region region) const;
  std::size_t used(Part part) const { return cursors_[index_of(part)].used; }
  Session& session() { return session_; }
  // Bytes of workspace that the candidate asks for; asked once for the same shape and limits.
  Checked<std::size_t> workspace(tik_attention_shape const& shape, tik_attention_limits const& limits);

 private:
  struct Cursor {
    std::size_t begin = 0, used = 0, end = 0;
  };
  std::size_t index_of(Part part) const {
    auto const index = static_cast<std::size_t>(part);
    return drawn_ ? index : index / 2 * 2; // else values share with indices, and the workspace with results
  }

  Session& session_;
  bool drawn_ = false;
  std::array<Cursor, 4> cursors_;
  std::map<std::vector<std::int64_t>, std::size_t> workspaces_;
};
// What rewind() may leave free before the first value.
inline constexpr std::size_t largest_rewind = std::size_t{16} << 20;

inline constexpr std::uint16_t output_poison = 0x7fc3; // a NaN that no computation makes

class Image {
 public:
  // Lays the call out, with keys and values of its own or those of `cache_of`, an image of the same arena with the same
  // lengths and layout. Where the arena's values are drawn already, only the shape of the dataset is looked at.
  static Checked<Image> place(Arena& arena, Dataset const& dataset, CallShape const& shape, Random& random,
                              Image const* cache_of = nullptr);

  // The same call on the same inputs, for another worker that shares the memory they lie in.
  Checked<Image> beside(Arena& arena, Random& random) const;

  // Poisons the outputs, calls, and takes the outputs back. Fails when the status is not TIK_OK, an element was not written or
  // is NaN, or a byte outside the outputs changed.
  Checked<Outputs> run();
  // The second half of run(): takes the outputs of a call that was made in another way.
  Checked<Outputs> collect();
  // Everything from the first guard to the last, the outputs included, holds the poison.
  void poison_outputs();
  // What the call reads, as it stands in shared memory; its sequences are those of the call in order. Only of dense images.
  Dataset read_inputs() const;

  // On a GPU: whether the call is captured into a graph, or launched again from the one that is there. Drawn when the call is
  // placed.
  void use_graph(bool use) { request_.transfer.graph = use && arena_->session().gpu(); }
  // On a GPU: every later run() brings the device's inputs back, for returned_input_hash(). On the CPU workers cannot write
  // them.
  Checked<void> return_inputs(Random& random);
  std::string returned_input_hash() const;

  // Sends `request`, a changed request(), which must be refused with `status`, a sentence, and nothing written.
  Checked<void> run_refused(CallRequest const& request, tik_status status, std::string const& what);
  // Sets the cached length of one sequence in shared memory.
  void set_length(int row_range, int tokens);
  // Takes a token out of the cache again: what lies there is NaN.
  void erase_token(int row_range, int token);
  // For decode: the next query of a sequence is at `token`, whose key and value join the cache. write_queries() follows.
  void advance(Dataset const& dataset, int row_range, int token);
  // A fingerprint of everything the call may read.
  std::string input_hash() const;

  // The same call as host memory sees it: for the reference.
  tik_attention_args host_args() const;
  // As sent; may be changed to make a bad request.
  CallRequest const& request() const { return request_; }
  CallShape const& shape() const { return shape_; }
  int total_rows() const { return total_rows_; }
  // The values at an offset in the inputs.
  tik_bf16* input_values(std::size_t offset) const { return at<tik_bf16>(Region::input, offset); }
  // Copies the dataset's present values of one token (keys and values), or of every query row of the call, into shared memory.
  void write_token(Dataset const& dataset, int row_range, int token);
  void write_queries(Dataset const& dataset);
  // The same for the query rows first .. first + count - 1 of one sequence of the call.
  void write_query_rows(Dataset const& dataset, int row_range, int first, int count);
  // Evicts every line of the inputs from all caches of the machine.
  void evict() const;
  // Parts of the regions, for a worker with memory of its own: everything placed in them; what a call may write, with its
  // guards; some query rows of a sequence; the key and the value of one token (only of dense images).
  Extent input_extent() const;
  Extent output_extent() const { return {output_begin_, guard_end_}; }
  Extent workspace_extent() const { return {workspace_, workspace_ + (request_.args.workspace_bytes + 1) / 2 * 2}; }
  Extent result_extent() const { return {guard_begin_, guard_end_}; }
  Extent query_extent(int row_range, int first, int count) const;
  std::array<Extent, 2> token_extents(int row_range, int token) const;

 private:
  Image(Arena& arena, CallShape shape) : arena_(&arena), shape_(std::move(shape)) {}
  Checked<void> place_tensors(Dataset const& dataset, Random& random);
  Checked<void> place_cache(Dataset const& dataset, Random& random);
  void take_cache(Image const& other);
  void fill_token(Dataset const* dataset, int row_range, int token);
  void note_change(Extent const& extent);
  Checked<void> send_changes();
  Checked<void> place_outputs(Random& random);
  std::size_t cache_element(int row_range, int token, int head) const;
  template <class T>
  T* at(Region region, std::size_t offset) const {
    return reinterpret_cast<T*>(arena_->bytes(region).data() + offset);
  }
  std::optional<std::size_t> reserve(Part part, std::size_t bytes, std::size_t alignment, Random& random);
  Checked<void> check_surroundings() const;
  Checked<void> take(Outputs& outputs);

  Arena* arena_;
  CallShape shape_;
  CallRequest request_;
  int total_rows_ = 0;
  std::vector<int> first_row_, page_table_;
  // On a GPU: what changed in shared memory since it was sent, and where that is listed for the worker.
  std::vector<Extent> changed_;
  std::size_t change_list_ = 0;
  bool sent_ = false;
  std::size_t queries_ = 0, offsets_ = 0, lengths_ = 0, keys_ = 0, values_ = 0, table_ = 0, out_ = 0, lse_ = 0, workspace_ = 0;
  std::size_t input_begin_ = 0, input_end_ = 0, output_begin_ = 0, guard_begin_ = 0, guard_end_ = 0;
};

} // namespace tik::evaluator
