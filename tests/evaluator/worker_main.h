// A test that evaluates needs an executable that can be its own worker, as `tik` is.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "src/evaluator/evaluator.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "evaluator-worker") return tik::evaluator::worker_main(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
