#include "src/cli/interrupt.h"

#include <csignal>

namespace tik::cli {
namespace {

// A signal handler can reach nothing but what has static storage.
std::atomic<bool> stop{false};
std::atomic<bool> by_signal{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  by_signal = true;
  stop = true;
}

void install(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

} // namespace

Interrupt::Interrupt() { install(on_signal, static_cast<int>(SA_RESETHAND)); }
Interrupt::~Interrupt() { install(SIG_DFL, 0); }
std::atomic<bool>& Interrupt::flag() { return stop; }
bool Interrupt::signalled() { return by_signal; }

} // namespace tik::cli
