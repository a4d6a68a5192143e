// Validators for the flags of mains: DEFINE_int32(threads, ...); DEFINE_validator(threads,
// &strata::IsPositive); A value that one refuses is a UsageError of ParseFlags (command_line.h). The
// main thread alone sets flags.
#ifndef STRATA_CORE_CLI_FLAG_VALIDATORS_H_
#define STRATA_CORE_CLI_FLAG_VALIDATORS_H_

#include <cstdint>
#include <string>

namespace strata {

bool IsPositive(const char* flag, int32_t value);
bool IsNotNegative(const char* flag, int32_t value);
// Empty, or what ParseByteSize takes.
bool IsByteSize(const char* flag, const std::string& value);
// The same of a memory as a whole, where "12" is hardly 12 bytes: a number without a unit is 0 or a
// MiB at least.
bool IsMemorySize(const char* flag, const std::string& value);

// Why a validator refused, once: "must be 1 or more". Empty when none did.
std::string TakeRefusal();

}  // namespace strata

#endif  // STRATA_CORE_CLI_FLAG_VALIDATORS_H_
