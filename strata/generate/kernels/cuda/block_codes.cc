#include "strata/generate/kernels/cuda/block_codes.h"

#include <cstring>

#include "strata/generate/blocks/block_tables.h"

namespace strata {
namespace {

template <typename Table>
void CopyTable(const Table& from, Table& to) {
  std::memcpy(&to, &from, sizeof(to));
}

}  // namespace

BlockTables MakeBlockTables() {
  BlockTables tables;
  CopyTable(kValuesIq4nl, tables.values_iq4nl);
  CopyTable(kValuesMxfp4, tables.values_mxfp4);
  CopyTable(kSignsIq2xs, tables.signs_iq2xs);
  CopyTable(kGridIq2xxs, tables.grid_iq2xxs);
  CopyTable(kGridIq2xs, tables.grid_iq2xs);
  CopyTable(kGridIq2s, tables.grid_iq2s);
  CopyTable(kGridIq3xxs, tables.grid_iq3xxs);
  CopyTable(kGridIq3s, tables.grid_iq3s);
  CopyTable(kGridIq1s, tables.grid_iq1s);
  return tables;
}

}  // namespace strata
