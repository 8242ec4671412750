#include "tests/operators/sm90_on_host/fibers.h"

#include <ucontext.h>

namespace tik::on_host {
namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr unsigned warp_threads = 32;

} // namespace

struct Block::Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  unsigned thread = 0;
  bool ended = false;
};

Block::Block() : scheduler_(std::make_unique<Fiber>()) {}
Block::~Block() = default;

Block& Block::current() {
  static Block block;
  return block;
}

unsigned Block::thread() const { return running_->thread; }

void Block::begin() {
  Block& block = current();
  (*block.body_)();
  block.running_->ended = true;
  swapcontext(&block.running_->context, &block.scheduler_->context);
}

void Block::run(unsigned threads, std::function<void()> const& body) {
  body_ = &body;
  threads_ = threads;
  warps_.assign(threads / warp_threads, {});
  all_ = {};
  given_.assign(threads, 0);
  while (fibers_.size() < threads) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_.back()->stack = std::make_unique<char[]>(stack_bytes);
  }
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = *fibers_[t];
    fiber.thread = t;
    fiber.ended = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Block::begin, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (unsigned t = 0; t < threads; ++t) {
      running_ = fibers_[t].get();
      if (running_->ended) continue;
      swapcontext(&scheduler_->context, &running_->context);
      left |= !running_->ended;
    }
  }
}

void Block::wait(Barrier& barrier, unsigned count) {
  unsigned const turn = barrier.turn;
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    ++barrier.turn;
    return;
  }
  while (barrier.turn == turn) swapcontext(&running_->context, &scheduler_->context);
}

void Block::wait_for_block() { wait(all_, threads_); }

float Block::exchange(float number, unsigned from) {
  Barrier& warp = warps_[thread() / warp_threads];
  given_[thread()] = number;
  wait(warp, warp_threads);
  float const received = given_[from];
  wait(warp, warp_threads); // before the next exchange overwrites it
  return received;
}

} // namespace tik::on_host
