// How a warp arrives at a barrier: one lane for all. compute-sanitizer's racecheck does not follow that, so a build for it,
// with TIK_RACECHECK, has every lane arrive by itself.
#pragma once

namespace tik::attention::sm90 {

#ifdef TIK_RACECHECK
inline constexpr bool every_lane_arrives = true;
#else
inline constexpr bool every_lane_arrives = false;
#endif
inline constexpr int arrivals_per_warp = every_lane_arrives ? 32 : 1;

} // namespace tik::attention::sm90
