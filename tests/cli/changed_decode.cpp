// Attention's decode of the CPU backend under another name, so that a library can put something before it.
#define tik_attention_decode tik_unchanged_attention_decode
#include "operators/attention/cpu/decode.cpp"
