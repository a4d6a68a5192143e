#include "strata/core/sha256.h"

#include <openssl/evp.h>

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"

namespace strata {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr);
  CHECK_EQ(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr), 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(absl::Span<const std::byte> bytes) {
  CHECK_EQ(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()), 1);
}

std::string Sha256::HexDigest() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK_EQ(EVP_DigestFinal_ex(context_.get(), digest, &size), 1);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string Sha256Hex(absl::Span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.HexDigest();
}

}  // namespace strata
