#include "strata/core/cli/json_output.h"

#include <iostream>

#include "nlohmann/json.hpp"

namespace strata {

void PrintJson(const Json& value) {
  std::cout << value.dump(/*indent=*/2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace)
            << "\n";
}

}  // namespace strata
