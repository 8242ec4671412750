// Bits of one call against bits of another, row by row.
#pragma once

#include "src/evaluator/image.h"

namespace tik::evaluator {

// Outputs by sequence and token: [sequence][token, query_heads, head_dim].
class Truth {
 public:
  // Of a full call over whole sequences.
  Truth(Dataset const& dataset, CallShape const& shape, Outputs const& outputs);

  // Fails at the first element whose bits differ from those of the same sequence and token here. `who` names the call that gave
  // `outputs`, `what` the case.
  Checked<void> compare(CallShape const& shape, Outputs const& outputs, std::string const& who, std::string const& what) const;

 private:
  tik_attention_shape shape_;
  std::vector<Outputs> sequences_;
};

// "contiguous cache", "pages of 16"
std::string describe_layout(spec::KvLayout layout, int page_size);

} // namespace tik::evaluator
