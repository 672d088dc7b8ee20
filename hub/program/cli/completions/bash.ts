import { flagSpellings, spelledWithValue } from "../args.ts";
import { MODES } from "../flags.ts";
import { type Offered, offeredFor, TOPICS } from "../topics.ts";

/** What answers `compgen` for a place; none where nothing is known. */
function reply(offered: Offered): string | null {
  if (offered === "files") return "compopt -o filenames; _flotilla_offer -f";
  if (offered === "directories") return "compopt -o filenames; _flotilla_offer -d";
  return offered === "nothing" ? null : `_flotilla_offer -W '${offered.choices.join(" ")}'`;
}

const cases = (rows: readonly (readonly [string, string | null])[]): string[] =>
  rows.flatMap(([pattern, answer]) => (answer === null ? [] : [`    ${pattern}) ${answer} ;;`]));

const flagCases = cases(
  TOPICS.flatMap(({ name, flags }) =>
    flags.flatMap((flag) =>
      flag.value === undefined
        ? []
        : flagSpellings(flag).map(
            (spelled) => [`'${name} ${spelled}'`, reply(offeredFor(flag.value ?? ""))] as const,
          ),
    ),
  ),
);

/** The last word stands for any number where it says so. */
const wordCases = cases(
  TOPICS.flatMap(({ name, words }) =>
    words.map((word, at) => {
      const place = word.includes("…") ? `'${name} '*` : `'${name} ${at}'`;
      return [place, reply(offeredFor(word))] as const;
    }),
  ),
);

const switches = cases(
  TOPICS.map(({ name, flags }) => [
    `'${name}'`,
    `_flotilla_offer -W '${[...flags.map((flag) => `--${flag.name}`), "--help"].join(" ")}'`,
  ]),
);

const withValue = spelledWithValue().map(({ spelled }) => spelled);
/** The same letters where they take none; there is one such at least. */
const switchesOf = spelledWithValue().flatMap(({ spelled, switch_of }) =>
  switch_of.map((topic) => `'${topic} ${spelled}'`),
);

/** `flotilla completions bash`. */
export const bashCompletions =
  (): string => `# Completions of flotilla for bash: source this file, or put it into
# ~/.local/share/bash-completion/completions/flotilla

_flotilla_offer() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@" -- "$_flotilla_typed")
}

_flotilla() {
  local _flotilla_typed="\${COMP_WORDS[COMP_CWORD]}" flag="" topic="" position=0 word i
  COMPREPLY=()
  # bash takes --flag=value for three words.
  [[ $_flotilla_typed == "=" ]] && _flotilla_typed=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    [[ $word == "=" ]] && continue
    if [[ -n $flag ]]; then
      [[ $flag == "--mode" ]] && topic="$word"
      flag=""
      continue
    fi
    case "$topic $word" in
    ${switchesOf.join(" | ")}) ;;
    *\\ -*)
      case "$word" in
      ${withValue.join(" | ")}) flag="$word" ;;
      esac
      ;;
    *) if [[ -z $topic ]]; then topic="$word"; else position=$((position + 1)); fi ;;
    esac
  done
  if [[ $flag == "--mode" ]]; then
    _flotilla_offer -W '${MODES.join(" ")}'
  elif [[ -n $flag ]]; then
    case "$topic $flag" in
${flagCases.join("\n")}
    esac
  elif [[ -z $topic && $_flotilla_typed == -* ]]; then
    _flotilla_offer -W '--help --version --mode'
  elif [[ -z $topic ]]; then
    _flotilla_offer -W '${TOPICS.map(({ name }) => name).join(" ")}'
  elif [[ $_flotilla_typed == -* ]]; then
    case "$topic" in
${switches.join("\n")}
    esac
  else
    case "$topic $position" in
${wordCases.join("\n")}
    esac
  fi
}

complete -F _flotilla flotilla
`;
