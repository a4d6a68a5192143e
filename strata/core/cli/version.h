// The version that every tool prints with --version.
#ifndef STRATA_CORE_CLI_VERSION_H_
#define STRATA_CORE_CLI_VERSION_H_

namespace strata {

// "-dev" until CHANGELOG.md has a release of that number.
inline constexpr char kVersion[] = "0.1.0-dev";

}  // namespace strata

#endif  // STRATA_CORE_CLI_VERSION_H_
