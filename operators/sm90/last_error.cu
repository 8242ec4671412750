#include "operators/functions.h"
#include "operators/sm90/launch.cuh"

namespace tik::operators::sm90 {

char const* last_error() { return Error::sentence().c_str(); }
char const* backend_name() { return "sm90"; }

} // namespace tik::operators::sm90
