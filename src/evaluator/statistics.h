// Robust statistics of timings.
#pragma once

#include <vector>

namespace tik::evaluator {

double median(std::vector<double> values); // 0 for none
// Median absolute deviation from the median.
double spread(std::vector<double> const& values);
// Half the width of an interval that holds the true median about 95 times in 100, from the spread and the count.
double median_uncertainty(std::vector<double> const& values);

} // namespace tik::evaluator
