#include "operators/cpu/backend.h"

#include "operators/functions.h"

namespace tik::operators::cpu {

char const* last_error() { return Error::sentence().c_str(); }
char const* backend_name() { return "cpu"; }

} // namespace tik::operators::cpu
