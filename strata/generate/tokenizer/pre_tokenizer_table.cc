#include "strata/generate/tokenizer/pre_tokenizer_table.h"

// A branch of the patterns below, by its use. Where a published tokenizer has the same expression
// with possessive marks or with upper and lower case spelled out, it means the same.
#define CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define WORD R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define PUNCTUATION R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define LINE_ENDS R"(\s*[\r\n]+)"
#define SPACES R"(\s+(?!\S)|\s+)"
// Words of upper-case letters, then lower-case ones; marks and letters without case are both.
#define UPPER R"(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})"
#define LOWER R"(\p{Ll}\p{Lm}\p{Lo}\p{M})"
#define LOWER_WORD R"([^\r\n\p{L}\p{N}]?[)" UPPER "]*[" LOWER "]+"
#define UPPER_WORD R"([^\r\n\p{L}\p{N}]?[)" UPPER "]+[" LOWER "]*"
#define SLASH_PUNCTUATION R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)"

namespace strata {
namespace {

constexpr char kGpt2[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr char kQwen2[] = CONTRACTIONS "|" WORD R"(|\p{N}|)" PUNCTUATION "|" LINE_ENDS "|" SPACES;

constexpr char kLlama3[] =
    CONTRACTIONS "|" WORD R"(|\p{N}{1,3}|)" PUNCTUATION "|" LINE_ENDS "|" SPACES;

// Marks belong to words.
constexpr char kQwen35[] = CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" LINE_ENDS
    "|" SPACES;

constexpr char kGpt4o[] = LOWER_WORD CONTRACTIONS
    "?|" UPPER_WORD CONTRACTIONS R"(?|\p{N}{1,3}|)" SLASH_PUNCTUATION "|" LINE_ENDS "|" SPACES;

constexpr char kTekken[] =
    LOWER_WORD "|" UPPER_WORD R"(|\p{N}|)" SLASH_PUNCTUATION "|" LINE_ENDS "|" SPACES;

constexpr char kKimiK2[] =
    R"([\p{Han}]+|)"
    R"([^\r\n\p{L}\p{N}]?[)" UPPER R"(&&[^\p{Han}]]*[)" LOWER R"(&&[^\p{Han}]]+)" CONTRACTIONS
    "?|"
    R"([^\r\n\p{L}\p{N}]?[)" UPPER R"(&&[^\p{Han}]]+[)" LOWER R"(&&[^\p{Han}]]*)" CONTRACTIONS
    R"(?|\p{N}{1,3}|)" PUNCTUATION "|" LINE_ENDS "|" SPACES;

constexpr char kBailing[] =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|)"
    R"(\s*[\r\n]|)" SPACES;

constexpr char kSeedCoder[] =
    CONTRACTIONS "|" WORD R"(|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" LINE_ENDS "|" SPACES;

// Words that single spaces join are one piece.
constexpr char kExaoneMoe[] =
    CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)"
                 R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|)" SPACES;

// DeepSeek: from V3 on digits in threes, then runs of Chinese and Japanese, then words.
constexpr char kUpToThreeDigits[] = R"(\p{N}{1,3})";
constexpr char kChineseAndKana[] = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
constexpr char kDeepSeekV3Words[] =
    R"([!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" LINE_ENDS
    "|" SPACES;

// DeepSeek before V3.
constexpr char kLineEnd[] = R"([\r\n])";
constexpr char kChineseAndHangul[] = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+";
constexpr char kDigit[] = R"(\p{N})";
constexpr char kCoderWord[] = R"(\s?\p{L}+)";
constexpr char kCoderPunctuation[] = R"(\s?\p{P}+)";
// Letters with case, as listed in the makers' file; the list is older than ICU's.
constexpr char kDeepSeekLlmWord[] =
    R"(\s?[A-Za-z)"
    "\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF"
    "\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1"
    "\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5"
    "\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A"
    "\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D"
    "\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3"
    "\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115"
    "\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149"
    "\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D"
    "\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06"
    "\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F\U000104B0-\U000104D3"
    "\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-\U00010CF2\U000118A0-\U000118DF"
    "\U0001E900-\U0001E943]+";
constexpr char kDeepSeekLlmPunctuation[] =
    "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+";
constexpr char kSpacesAtTheEnd[] = R"(\s+$)";

// Chameleon: first its markers of images and of gaps.
constexpr char kSentinel[] = R"(<sentinel:[0-9]+>)";
constexpr char kImage[] = R"(IMGIMG[A-I]{1,4}Z)";
constexpr char kChameleonSpaces[] = R"([\t\n]|    |  )";
constexpr char kOnePunctuationMark[] = R"([\p{P}!-/:-@\[-`{-~])";

// Falcon, and files whose splitter was never recorded.
constexpr char kFalconPunctuation[] = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr char kDefaultPunctuation[] = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr char kDigits[] = R"(\p{N}+)";
constexpr char kThreeAsciiDigits[] = "[0-9][0-9][0-9]";

}  // namespace

absl::Span<const PreTokenizerRow> PreTokenizerTable() {
  static const std::vector<PreTokenizerRow>& table = *new std::vector<PreTokenizerRow>{
      {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
       {kLlama3},
       /*ignores_merges=*/true,
       /*adds_bos=*/true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {kLlama3}},
      {{"qwen2", "deepseek-r1-qwen", "kormo", "megrez", "hunyuan", "solar-open", "grok-2",
        "stablelm2"},
       {kQwen2}},
      {{"qwen35"}, {kQwen35}},
      {{"gpt-4o", "llama4", "kanana2", "minimax-m2"}, {kGpt4o}},
      {{"tekken"}, {kTekken}, /*ignores_merges=*/true, /*adds_bos=*/true},
      {{"kimi-k2"}, {kKimiK2}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {kBailing}},
      {{"seed-coder"}, {kSeedCoder}},
      {{"exaone-moe"}, {kExaoneMoe}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm"},
       {kUpToThreeDigits, kChineseAndKana, kDeepSeekV3Words}},
      {{"deepseek-coder"}, {kLineEnd, kCoderWord, kCoderPunctuation, kChineseAndHangul, kDigit}},
      {{"deepseek-llm"},
       {kLineEnd, kDeepSeekLlmWord, kDeepSeekLlmPunctuation, kSpacesAtTheEnd, kChineseAndHangul,
        kDigit}},
      {{"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "mellum",
        "gigachat", "a.x-4.0", "exaone4"},
       {kGpt2}},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"},
       {kDigit, kGpt2}},
      {{"chameleon"},
       {kSentinel, kImage, kChameleonSpaces, kDigit, kOnePunctuationMark, kGpt2},
       /*ignores_merges=*/false,
       /*adds_bos=*/true},
      {{"falcon"}, {kFalconPunctuation, kGpt2, kThreeAsciiDigits}},
      {{"default"}, {kDefaultPunctuation, kGpt2, kDigits, kThreeAsciiDigits}},
  };
  return table;
}

}  // namespace strata
