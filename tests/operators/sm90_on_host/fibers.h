// A block of threads of a GPU on the host: every thread is a fiber, and one runs until it waits for the others.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace tik::on_host {

class Block {
 public:
  // The block that runs; there is one at a time.
  static Block& current();

  // Runs `body` in `threads` fibers, a multiple of 32, until all have ended.
  void run(unsigned threads, std::function<void()> const& body);

  // The number of the running thread.
  unsigned thread() const;

  void wait_for_block();
  // Every lane of the warp gives a number; returns that of thread `from`, which is in the same warp.
  float exchange(float number, unsigned from);

 private:
  struct Fiber;
  struct Barrier {
    unsigned arrived = 0, turn = 0;
  };
  Block();
  ~Block();
  void wait(Barrier& barrier, unsigned count);
  static void begin();

  std::vector<std::unique_ptr<Fiber>> fibers_; // kept from block to block
  std::vector<Barrier> warps_;
  std::vector<float> given_;
  Barrier all_;
  std::function<void()> const* body_ = nullptr;
  unsigned threads_ = 0;
  Fiber* running_ = nullptr;
  std::unique_ptr<Fiber> scheduler_;
};

struct ThreadIndex {
  struct X {
    operator unsigned() const { return Block::current().thread(); }
  } x;
};
inline ThreadIndex thread_index;

struct Index {
  unsigned x = 0, y = 0;
};
inline Index block_index, block_size;

} // namespace tik::on_host
