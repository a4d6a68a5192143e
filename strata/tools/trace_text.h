// A routing trace as text, a line a record: a word for its type, then name=value. Experts are
// written block.index.
#ifndef STRATA_TOOLS_TRACE_TEXT_H_
#define STRATA_TOOLS_TRACE_TEXT_H_

#include <string>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/trace/trace_records.h"

namespace strata {

// Lines of model, policy, slots and notes.
std::string TraceHeaderText(const TraceHeader& header);

// A step has for each block the choices of each token: "b3=5,7/1,2" are two tokens of block 3, best
// first.
std::string TraceRecordText(const ExpertGeometry& geometry, const TraceRecord& record);

}  // namespace strata

#endif  // STRATA_TOOLS_TRACE_TEXT_H_
