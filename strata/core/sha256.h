// SHA-256, the hash that others print for model files.
#ifndef STRATA_CORE_SHA256_H_
#define STRATA_CORE_SHA256_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/types/span.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX.

namespace strata {

// Of bytes that arrive in pieces. Thread-compatible.
class Sha256 {
 public:
  Sha256();
  ~Sha256();

  void Update(absl::Span<const std::byte> bytes);
  // 64 lower-case hexadecimal digits; nothing may be added afterwards.
  std::string HexDigest();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// Of all the bytes at once.
std::string Sha256Hex(absl::Span<const std::byte> bytes);

}  // namespace strata

#endif  // STRATA_CORE_SHA256_H_
