#include "strata/cache/trace/trace_codec.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/error.h"
#include "strata/core/little_endian.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

enum class RecordType : uint8_t {
  kStep = 1,
  kRates = 2,
  kSwap = 3,
  kCame = 4,
  kLeft = 5,
  kLandings = 6
};

constexpr uint64_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr uint64_t kMaxNoteBytes = 1 << 16;

absl::Status BadRecord(absl::string_view what) { return InputError("bad_record", "", what); }

// A number that is at most `most`; the reader fails otherwise, and all its values count for nothing
// from then on.
class FieldReader {
 public:
  explicit FieldReader(LittleEndianReader& reader) : reader_(reader) {}

  int64_t Int64(uint64_t most = kMaxInt64) {
    const uint64_t value = reader_.Varint();
    is_bad_ = is_bad_ || value > most;
    return is_bad_ ? 0 : static_cast<int64_t>(value);
  }
  int Int(uint64_t most = kMaxInt) { return static_cast<int>(Int64(most)); }
  // Absent, as -1, or below `size`.
  int Optional(int size) { return static_cast<int>(Int64(static_cast<uint64_t>(size))) - 1; }
  template <typename T>
  T Float() {
    const T value = reader_.Number<T>();
    is_bad_ = is_bad_ || !std::isfinite(value);
    return value;
  }
  std::string Text() {
    const int64_t num_bytes = Int64(kMaxNoteBytes);
    std::string text(reader_.Text(static_cast<uint64_t>(num_bytes)));
    is_bad_ = is_bad_ || WithoutControls(text) != text;
    return text;
  }
  // A count of items that take at least `item_bytes` each.
  size_t Count(uint64_t item_bytes) {
    const auto count = static_cast<uint64_t>(Int64());
    if (count > reader_.bytes_left() / item_bytes) reader_.Raw(reader_.bytes_left() + 1);
    return reader_.failed() ? 0 : count;
  }

  absl::Status Check(absl::string_view what) const {
    if (reader_.failed()) return InputError("truncated", "", absl::StrCat(what, " is cut short"));
    if (is_bad_) return BadRecord(absl::StrCat(what, " holds a number or text that cannot be"));
    return absl::OkStatus();
  }

 private:
  LittleEndianReader& reader_;
  bool is_bad_ = false;
};

void AppendText(absl::string_view text, LittleEndianWriter& writer) {
  CHECK(text.size() <= kMaxNoteBytes && WithoutControls(text) == text) << text;
  writer.Varint(text.size()).Raw(text);
}

void AppendLanding(const TierSettings& tier, LittleEndianWriter& writer) {
  writer.Number(tier.offered_share);
  writer.Varint(tier.landing_classes.size());
  for (const int number : tier.landing_classes) writer.Varint(static_cast<uint64_t>(number));
  writer.Varint(tier.num_offered.size());
  for (const int offered : tier.num_offered) writer.Varint(static_cast<uint64_t>(offered));
  writer.Varint(tier.uses_per_step.size());
  for (const float uses : tier.uses_per_step) writer.Number(uses);
  writer.Varint(static_cast<uint64_t>(tier.landing_rule));
}

void AppendTier(const TierSettings& tier, LittleEndianWriter& writer) {
  writer.Varint(tier.slots.size());
  for (const TierSettings::Slot& slot : tier.slots) {
    writer.Varint(static_cast<uint64_t>(slot.blob_bytes));
    writer.Varint(static_cast<uint64_t>(slot.expert + 1));
  }
  writer.Varint(static_cast<uint64_t>(tier.adapt_every))
      .Varint(static_cast<uint64_t>(tier.max_swaps))
      .Varint(static_cast<uint64_t>(tier.max_bytes))
      .Number(tier.decay)
      .Number(tier.margin);
  writer.Varint(tier.ranking.size());
  for (const int expert : tier.ranking) writer.Varint(static_cast<uint64_t>(expert));
  writer.Varint(tier.seed_counts.size());
  for (const float count : tier.seed_counts) writer.Number(count);
  writer.Varint(tier.notes.size());
  for (const auto& [key, value] : tier.notes) {
    AppendText(key, writer);
    AppendText(value, writer);
  }
  AppendLanding(tier, writer);
}

bool AreDistinct(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

// Each expert is in one slot at most.
absl::Status CheckSlots(const std::vector<TierSettings::Slot>& slots) {
  std::vector<int> experts;
  for (const TierSettings::Slot& slot : slots) {
    if (slot.expert >= 0) experts.push_back(slot.expert);
  }
  if (AreDistinct(std::move(experts))) return absl::OkStatus();
  return BadRecord("the header has an expert in two slots");
}

absl::Status CheckStart(const TierSettings& tier, size_t num_experts) {
  if (!tier.ranking.empty() && (tier.ranking.size() != num_experts || !AreDistinct(tier.ranking))) {
    return BadRecord("the header's ranking does not hold every expert once");
  }
  if (!tier.seed_counts.empty() && tier.seed_counts.size() != num_experts) {
    return BadRecord("the header has other first counts than experts");
  }
  return absl::OkStatus();
}

// Notes come in the order of their keys, as they are written.
absl::Status ReadNotes(FieldReader& fields, LittleEndianReader& reader, TierSettings& tier) {
  for (size_t left = fields.Count(/*item_bytes=*/2); left > 0 && !reader.failed(); --left) {
    std::string key = fields.Text();
    std::string value = fields.Text();
    if (!reader.failed() && !tier.notes.empty() && key <= tier.notes.rbegin()->first) {
      return BadRecord("the header's notes are out of order");
    }
    tier.notes.emplace(std::move(key), std::move(value));
  }
  return absl::OkStatus();
}

// Landing classes are numbered without a gap.
absl::Status CheckLanding(const TierSettings& tier, const ExpertGeometry& geometry) {
  if (!(0 <= tier.offered_share && tier.offered_share < 1)) {
    return BadRecord("the header offers a share of the slots that is none");
  }
  if (!tier.landing_classes.empty() && tier.landing_classes.size() != geometry.layers().size()) {
    return BadRecord("the header has other landing classes than layers");
  }
  std::vector<int> classes = tier.landing_classes;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != static_cast<int>(i)) return BadRecord("the header lacks a landing class");
  }
  if (tier.num_offered.size() != classes.size()) {
    return BadRecord("the header has other pools than landing classes");
  }
  if (!tier.uses_per_step.empty() &&
      tier.uses_per_step.size() != static_cast<size_t>(geometry.size())) {
    return BadRecord("the header has other expected uses than experts");
  }
  return absl::OkStatus();
}

absl::Status ReadLanding(const ExpertGeometry& geometry, uint32_t version,
                         LittleEndianReader& reader, TierSettings& tier) {
  FieldReader fields(reader);
  tier.offered_share = fields.Float<double>();
  tier.landing_classes.resize(fields.Count(/*item_bytes=*/1));
  for (int& number : tier.landing_classes) number = fields.Int();
  tier.num_offered.resize(fields.Count(/*item_bytes=*/1));
  for (int& offered : tier.num_offered) offered = fields.Int();
  tier.uses_per_step.resize(fields.Count(sizeof(float)));
  for (float& uses : tier.uses_per_step) uses = fields.Float<float>();
  if (version >= 3) {
    tier.landing_rule = static_cast<LandingRule>(fields.Int(/*most=*/kNumLandingRules - 1));
  }
  RETURN_IF_ERROR(fields.Check("the trace's header"));
  return CheckLanding(tier, geometry);
}

absl::Status ReadTier(int num_experts, LittleEndianReader& reader, TierSettings& tier) {
  FieldReader fields(reader);
  tier.slots.resize(fields.Count(/*item_bytes=*/2));
  for (TierSettings::Slot& slot : tier.slots) {
    slot.blob_bytes = fields.Int64();
    slot.expert = fields.Optional(num_experts);
  }
  tier.adapt_every = fields.Int();
  tier.max_swaps = fields.Int();
  tier.max_bytes = fields.Int64();
  tier.decay = fields.Float<double>();
  tier.margin = fields.Float<double>();
  tier.ranking.resize(fields.Count(/*item_bytes=*/1));
  for (int& expert : tier.ranking) expert = fields.Int(static_cast<uint64_t>(num_experts - 1));
  tier.seed_counts.resize(fields.Count(sizeof(float)));
  for (float& count : tier.seed_counts) count = fields.Float<float>();
  RETURN_IF_ERROR(ReadNotes(fields, reader, tier));
  RETURN_IF_ERROR(fields.Check("the trace's header"));
  RETURN_IF_ERROR(CheckSlots(tier.slots));
  return CheckStart(tier, static_cast<size_t>(num_experts));
}

size_t ChoicesOfToken(const ExpertGeometry& geometry) {
  return geometry.layers().size() * static_cast<size_t>(geometry.num_used());
}

bool FitsByte(const ExpertGeometry& geometry) { return geometry.num_experts() <= 256; }

absl::StatusOr<TraceRecord> ReadStep(const ExpertGeometry& geometry, LittleEndianReader& reader) {
  FieldReader fields(reader);
  RoutedStep step = {.number = fields.Int64(), .first_position = fields.Int64()};
  step.kind = fields.Int(/*most=*/1) == 0 ? RoutedStep::Kind::kPrompt : RoutedStep::Kind::kDecode;
  step.num_tokens = fields.Int();
  step.num_accepted = fields.Int(static_cast<uint64_t>(step.num_tokens));
  RETURN_IF_ERROR(fields.Check("a step"));
  if (step.num_tokens == 0) return BadRecord("a step has no tokens");
  const uint64_t num_choices = static_cast<uint64_t>(step.num_tokens) * ChoicesOfToken(geometry);
  const uint64_t choice_bytes = FitsByte(geometry) ? 1 : 2;
  if (num_choices > reader.bytes_left() / choice_bytes) {
    return InputError("truncated", "", "a step has fewer choices than its tokens need");
  }
  step.experts.resize(num_choices);
  for (uint16_t& expert : step.experts) {
    expert = FitsByte(geometry) ? reader.Number<uint8_t>() : reader.Number<uint16_t>();
    if (expert >= geometry.num_experts()) {
      return BadRecord(absl::StrCat("step ", step.number, " chooses expert ", expert, " of ",
                                    geometry.num_experts()));
    }
  }
  return step;
}

absl::StatusOr<TraceRecord> ReadRates(LittleEndianReader& reader) {
  FieldReader fields(reader);
  TraceRates rates = {.step = fields.Int64()};
  for (double* rate : {&rates.copy_bytes_per_ns, &rates.miss_fixed_ns, &rates.miss_ns_per_byte}) {
    *rate = fields.Float<double>();
  }
  RETURN_IF_ERROR(fields.Check("a record of rates"));
  return rates;
}

absl::StatusOr<TraceRecord> ReadSwap(const ExpertGeometry& geometry, LittleEndianReader& reader) {
  FieldReader fields(reader);
  TraceSwap swap = {.step = fields.Int64()};
  swap.newcomer = fields.Int(static_cast<uint64_t>(geometry.size() - 1));
  swap.victim = fields.Optional(geometry.size());
  swap.predicted_saving_ns = fields.Float<double>();
  RETURN_IF_ERROR(fields.Check("a swap"));
  return swap;
}

absl::StatusOr<TraceRecord> ReadResidency(const ExpertGeometry& geometry, bool resident,
                                          LittleEndianReader& reader) {
  FieldReader fields(reader);
  TraceResidency residency = {.step = fields.Int64(), .resident = resident};
  residency.expert = fields.Int(static_cast<uint64_t>(geometry.size() - 1));
  residency.slot = fields.Int();
  residency.cause = static_cast<TraceResidency::Cause>(fields.Int(TraceResidency::kNumCauses - 1));
  RETURN_IF_ERROR(fields.Check("a change of residency"));
  return residency;
}

absl::StatusOr<TraceRecord> ReadLandings(const ExpertGeometry& geometry,
                                         LittleEndianReader& reader) {
  FieldReader fields(reader);
  TraceLandings landings = {.step = fields.Int64()};
  landings.num_offered = fields.Int();
  landings.landed.resize(fields.Count(/*item_bytes=*/2));
  for (TraceLandings::Landed& landed : landings.landed) {
    landed.expert = fields.Int(static_cast<uint64_t>(geometry.size() - 1));
    landed.slot = fields.Int();
  }
  RETURN_IF_ERROR(fields.Check("a record of landings"));
  if (landings.landed.size() > static_cast<size_t>(landings.num_offered)) {
    return BadRecord("more has landed than slots were offered");
  }
  return landings;
}

LittleEndianWriter& Begin(RecordType type, int64_t step, LittleEndianWriter& writer) {
  return writer.Number(static_cast<uint8_t>(type)).Varint(static_cast<uint64_t>(step));
}

}  // namespace

void AppendTraceHeader(const TraceHeader& header, LittleEndianWriter& writer) {
  header.identity.AppendTo(writer);
  AppendTier(header.tier, writer);
}

absl::StatusOr<TraceHeader> ReadTraceHeader(LittleEndianReader& reader, uint32_t version) {
  TraceHeader header;
  ASSIGN_OR_RETURN(header.identity, ModelIdentity::Read(reader));
  RETURN_IF_ERROR(ReadTier(header.identity.geometry.size(), reader, header.tier));
  if (version >= 2) {
    RETURN_IF_ERROR(ReadLanding(header.identity.geometry, version, reader, header.tier));
  }
  return header;
}

void AppendTraceRecord(const ExpertGeometry& geometry, const RoutedStep& step,
                       LittleEndianWriter& writer) {
  CHECK_EQ(step.experts.size(), static_cast<size_t>(step.num_tokens) * ChoicesOfToken(geometry));
  Begin(RecordType::kStep, step.number, writer)
      .Varint(static_cast<uint64_t>(step.first_position))
      .Varint(step.kind == RoutedStep::Kind::kPrompt ? 0 : 1)
      .Varint(static_cast<uint64_t>(step.num_tokens))
      .Varint(static_cast<uint64_t>(step.num_accepted));
  for (const uint16_t expert : step.experts) {
    if (FitsByte(geometry)) {
      writer.Number(static_cast<uint8_t>(expert));
    } else {
      writer.Number(expert);
    }
  }
}

void AppendTraceRecord(const TraceRates& rates, LittleEndianWriter& writer) {
  Begin(RecordType::kRates, rates.step, writer)
      .Number(rates.copy_bytes_per_ns)
      .Number(rates.miss_fixed_ns)
      .Number(rates.miss_ns_per_byte);
}

void AppendTraceRecord(const TraceSwap& swap, LittleEndianWriter& writer) {
  Begin(RecordType::kSwap, swap.step, writer)
      .Varint(static_cast<uint64_t>(swap.newcomer))
      .Varint(static_cast<uint64_t>(swap.victim + 1))
      .Number(swap.predicted_saving_ns);
}

void AppendTraceRecord(const TraceResidency& residency, LittleEndianWriter& writer) {
  Begin(residency.resident ? RecordType::kCame : RecordType::kLeft, residency.step, writer)
      .Varint(static_cast<uint64_t>(residency.expert))
      .Varint(static_cast<uint64_t>(residency.slot))
      .Varint(static_cast<uint64_t>(residency.cause));
}

void AppendTraceRecord(const TraceLandings& landings, LittleEndianWriter& writer) {
  Begin(RecordType::kLandings, landings.step, writer)
      .Varint(static_cast<uint64_t>(landings.num_offered))
      .Varint(landings.landed.size());
  for (const TraceLandings::Landed& landed : landings.landed) {
    writer.Varint(static_cast<uint64_t>(landed.expert)).Varint(static_cast<uint64_t>(landed.slot));
  }
}

absl::StatusOr<TraceRecord> ReadTraceRecord(const ExpertGeometry& geometry,
                                            LittleEndianReader& reader, uint32_t version) {
  const auto type = reader.Number<uint8_t>();
  switch (static_cast<RecordType>(type)) {
    case RecordType::kStep:
      return ReadStep(geometry, reader);
    case RecordType::kRates:
      return ReadRates(reader);
    case RecordType::kSwap:
      return ReadSwap(geometry, reader);
    case RecordType::kCame:
    case RecordType::kLeft:
      return ReadResidency(geometry, type == static_cast<uint8_t>(RecordType::kCame), reader);
    case RecordType::kLandings:
      if (version >= 2) return ReadLandings(geometry, reader);
      break;
  }
  return BadRecord(absl::StrCat("there is no record of type ", type));
}

}  // namespace strata
