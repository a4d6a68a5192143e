// What the system calls the processor; "unknown" where it does not say.
#ifndef STRATA_CORE_CPU_NAME_H_
#define STRATA_CORE_CPU_NAME_H_

#include <string>

namespace strata {

std::string CpuName();

}  // namespace strata

#endif  // STRATA_CORE_CPU_NAME_H_
