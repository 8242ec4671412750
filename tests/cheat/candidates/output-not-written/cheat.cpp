#include "wrap.h"

tik_status call(Entry, tik_attention_args const*) { return TIK_OK; }
