#include <algorithm>

#include "tests/gpu/kinds.h"

namespace tik::gpu_suite {
namespace {

constexpr int repeats = 100;

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { require(cudaStreamCreate(&stream), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(stream); }
};

// One call captured as a graph.
struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;

  Graph(Call& call, cudaStream_t stream) {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    if (call.launch(stream) != TIK_OK) throw std::runtime_error(tik_attention_last_error());
    require(cudaStreamEndCapture(stream, &graph), "ending a capture");
    require(cudaGraphInstantiate(&executable, graph, 0), "instantiating a graph");
  }
  ~Graph() {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
};

// Sequences within `limits`; some of them empty in decode and extend calls.
std::vector<Piece> random_pieces(Entry entry, tik_attention_limits const& limits, int batch, Random& random) {
  std::vector<Piece> pieces;
  for (int i = 0; i < batch; ++i) {
    int const length = random.between(1, entry == Entry::full ? limits.query_length : limits.kv_length);
    int tokens = entry == Entry::decode ? 1 : random.between(1, std::min(length, limits.query_length));
    if (entry == Entry::full) tokens = length;
    bool const empty = entry != Entry::full && random.next() % 6 == 0;
    pieces.push_back(empty ? Piece{{random.next()}, 0, 0} : Piece{{random.next()}, length - tokens, length});
  }
  return pieces;
}

Rows joined(std::vector<Rows> const& parts) {
  Rows all;
  for (Rows const& rows : parts) all.append(rows);
  return all;
}

struct Case {
  Entry entry;
  tik_attention_shape shape;
  tik_attention_limits limits;
  int batch;
  Layout layout;
};

std::vector<Case> make_cases(Suite const& suite) {
  if (suite.tiny) {
    return {{Entry::full, make_shape(4, 2, 128), {2, 60, 30, 30}, 2, {}},
            {Entry::extend, make_shape(4, 2, 128), {2, 20, 10, 60}, 2, {.page_size = 16}},
            {Entry::decode, make_shape(4, 2, 128), {2, 2, 1, 60}, 2, {.page_size = 16}}};
  }
  return {{Entry::full, make_shape(32, 8, 128), {3, 3600, 1200, 1200}, 3, {}},
          {Entry::full, make_shape(12, 2, 64), {5, 4000, 800, 800}, 5, {}},
          {Entry::extend, make_shape(8, 2, 128), {6, 1800, 300, 1500}, 6, {.page_size = 16}},
          {Entry::extend, make_shape(10, 2, 64), {6, 1800, 300, 1500}, 6, {}},
          {Entry::extend, make_shape(8, 2, 128), {8, 32, 4, 1500}, 8, {.page_size = 5}},
          {Entry::decode, make_shape(32, 8, 128), {16, 16, 1, 3100}, 16, {.page_size = 64}},
          {Entry::decode, make_shape(32, 4, 128), {4, 4, 1, 3100}, 4, {}},
          {Entry::decode, make_shape(14, 2, 64), {16, 16, 1, 1100}, 16, {.page_size = 1}}};
}

std::string label_of(Case const& c) {
  return describe(c.shape) + " " + attention::function_name(c.entry) + " " + describe(c.layout) + " batch " +
         std::to_string(c.batch);
}

CallSetup setup_of(Suite const& suite, Case const& c) { return {c.entry, c.shape, c.limits, c.batch, c.layout, suite.kernel}; }

} // namespace

void check_repeats(Suite& suite) {
  Random random(suite.seed + 7);
  for (Case const& c : make_cases(suite)) {
    Call call(setup_of(suite, c));
    call.load(random_pieces(c.entry, c.limits, c.batch, random));
    std::vector<std::string> problems;
    Rows first;
    for (int i = 0; i < (suite.tiny ? 3 : repeats); ++i) {
      announce(suite, label_of(c) + " run " + std::to_string(i));
      call.poison_output();
      if (call.launch() != TIK_OK) throw std::runtime_error(tik_attention_last_error());
      Rows const rows = joined(call.results(problems));
      if (i == 0) first = rows;
      if (i > 0) suite.report.compare("repeats", label_of(c) + " run " + std::to_string(i), first, 0, rows, 0, first.tokens);
    }
    suite.report.untouched(label_of(c) + " repeated", problems);
  }
}

void check_graphs(Suite& suite) {
  Random random(suite.seed + 8);
  Stream const stream;
  for (Case const& c : make_cases(suite)) {
    Call captured(setup_of(suite, c));
    captured.load(random_pieces(c.entry, c.limits, c.batch, random));
    Graph const graph(captured, stream.stream);
    std::vector<std::string> problems;
    for (int round = 0; round < suite.scaled(20, 2); ++round) {
      auto const pieces = random_pieces(c.entry, c.limits, c.batch, random);
      if (c.layout.page_size > 0) captured.map_pages(random.next());
      captured.load(pieces);
      announce(suite, label_of(c) + " replay " + std::to_string(round));
      require(cudaDeviceSynchronize(), "loading");
      require(cudaGraphLaunch(graph.executable, stream.stream), "replaying a graph");
      Rows const replayed = joined(captured.results(problems));
      std::string const label = label_of(c) + " replay " + std::to_string(round);
      // The same sequences in a call of their own, with tight limits.
      auto const alone = joined(run(suite, {c.entry, c.shape, limits_of(pieces), c.batch}, pieces, label));
      suite.report.compare("graphs", label, alone, 0, replayed, 0, alone.tokens);
    }
    suite.report.untouched(label_of(c) + " replayed", problems);
  }
}

} // namespace tik::gpu_suite
