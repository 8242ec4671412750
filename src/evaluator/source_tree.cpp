#include "src/evaluator/source_tree.h"

#include "src/base/source_folder.h"
#include "src/evaluator/evaluator.h"

namespace tik::evaluator {

Result<void> copy_source_tree(std::filesystem::path const& from, std::filesystem::path const& to) {
  TIK_TRY(auto const files, read_source_folder(from));
  return write_source_folder(to, files);
}

Result<std::string> hash_source_tree(std::filesystem::path const& folder) {
  TIK_TRY(auto const files, read_source_folder(folder));
  return hash_source_files(files);
}

} // namespace tik::evaluator
