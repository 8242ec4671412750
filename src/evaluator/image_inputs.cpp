// The inputs of an image taken back out of the memory that they lie in.
#include <cstring>
#include <future>

#include "src/evaluator/image.h"

namespace tik::evaluator {

// Gigabytes in all, so every tensor of every sequence is copied by itself, side by side.
Dataset Image::read_inputs() const {
  tik_attention_shape const& sizes = request_.args.shape;
  std::size_t const dim = static_cast<std::size_t>(sizes.head_dim),
                    query_row = static_cast<std::size_t>(sizes.query_heads) * dim,
                    cache_row = static_cast<std::size_t>(sizes.kv_heads) * dim;
  Dataset dataset{sizes, std::vector<Sequence>(shape_.rows.size())};
  std::vector<std::future<void>> copied;
  auto const copy = [&](auto part) { copied.push_back(std::async(std::launch::async, part)); };
  for (std::size_t b = 0; b < shape_.rows.size(); ++b) {
    Rows const& rows = shape_.rows[b];
    Sequence& sequence = dataset.sequences[b];
    sequence.tokens = rows.first + rows.count;
    sequence.first_query = rows.first;
    copy([this, &sequence, &rows, b, query_row] {
      Extent const extent = query_extent(static_cast<int>(b), 0, rows.count);
      sequence.queries.resize(static_cast<std::size_t>(rows.count) * query_row);
      std::memcpy(sequence.queries.data(), at<char>(Region::input, extent.begin), extent.end - extent.begin);
    });
    for (auto const& [tensor, base] : {std::pair(&Sequence::keys, keys_), std::pair(&Sequence::values, values_)}) {
      copy([this, &sequence, tensor = tensor, base = base, b, cache_row] {
        Tensor<tik_bf16>& target = sequence.*tensor;
        target.resize(static_cast<std::size_t>(sequence.tokens) * cache_row);
        for (int token = 0; token < sequence.tokens; ++token) {
          std::memcpy(target.data() + static_cast<std::size_t>(token) * cache_row,
                      at<tik_bf16>(Region::input, base) + cache_element(static_cast<int>(b), token, 0),
                      cache_row * sizeof(tik_bf16));
        }
      });
    }
  }
  for (std::future<void>& each : copied) each.get();
  return dataset;
}

} // namespace tik::evaluator
