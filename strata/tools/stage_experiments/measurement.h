// Repeated timings of one thing, and what is said of them.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_MEASUREMENT_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_MEASUREMENT_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace strata::stagebench {

// Of a sample: the median, and the quartiles as its spread.
struct Distribution {
  double median = 0;
  double low = 0;   // First quartile.
  double high = 0;  // Third quartile.
  int num_samples = 0;
};

// The sample must not be empty. Quantiles lie between neighbours in proportion.
Distribution Summarize(std::vector<double> sample);

// Figures of one arm of one experiment, in the order in which they are printed.
struct Measurement {
  std::string experiment;  // "per copy"
  std::string arm;         // "pinned, copy only"
  struct Figure {
    std::string name;  // Ends in its unit: "call_us", "gb_per_s".
    Distribution value;
  };
  std::vector<Figure> figures;
  // Plain numbers beside them: "share_of_link", "ratio_to_reference".
  std::vector<std::pair<std::string, double>> notes;
  std::string remark;  // Why an arm could not run, or what it ran on.
};

// Notes "share_of_link", unless the link's rate is 0: not known.
void NoteShareOfLink(double gb_per_s, double link_gb_per_s, Measurement& measurement);

// Seconds since it was made.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_MEASUREMENT_H_
