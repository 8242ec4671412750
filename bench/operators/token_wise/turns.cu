// The fused step of many tokens in a cut that the caller chooses.
#include "operators/qk_norm_rope_kv_write/sm90/many_tokens.h"
#include "operators/sm90/launch.cuh"

extern "C" {

// tik_qk_norm_rope_kv_write; 0 on success.
int turns_launch(tik_qk_norm_rope_kv_write_args const* args, int most_threads, int turns) {
  return tik::operators::sm90::qk_norm_rope_kv_write(args, {most_threads, turns});
}

char const* turns_last_error() { return tik::operators::sm90::Error::sentence().c_str(); }
}
