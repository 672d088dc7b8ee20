import { type Offered, offeredFor, TOPICS, type Topic } from "../topics.ts";

/** Within single quotes, where `_arguments` reads brackets and colons itself. */
const plain = (text: string): string =>
  text.replaceAll("'", "’").replace(/[\\[\]:]/g, (sign) => `\\${sign}`);

function action(offered: Offered): string {
  if (offered === "files") return "_files";
  if (offered === "directories") return "_files -/";
  return offered === "nothing" ? " " : `(${offered.choices.join(" ")})`;
}

const valuePart = (placeholder: string): string =>
  `:${plain(placeholder)}:${action(offeredFor(placeholder))}`;

const flagSpecs = ({ flags }: Topic): string[] =>
  flags.flatMap(({ name, short, value, repeatable, help }) => {
    const rest = `[${plain(help)}]${value ? valuePart(value) : ""}`;
    const many = repeatable === true ? "*" : "";
    return [
      `'${many}--${name}${value ? "=" : ""}${rest}'`,
      ...(short ? [`'${many}-${short}${rest}'`] : []),
    ];
  });

const wordSpecs = ({ words }: Topic): string[] =>
  words.map((word, at) => `'${word.includes("…") ? "*" : at + 1}${valuePart(word)}'`);

const topicCase = (topic: Topic): string =>
  [
    `    ${topic.name})`,
    `      _arguments '--help[how it is used]' \\`,
    ...[...flagSpecs(topic), ...wordSpecs(topic)].map((spec) => `        ${spec} \\`),
    "        && return 0",
    "      ;;",
  ].join("\n");

/** `flotilla completions zsh`. */
export const zshCompletions = (): string => `#compdef flotilla
# Completions of flotilla for zsh: put this file as _flotilla into a directory of $fpath, or source it.

_flotilla() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  local -a topics
  topics=(
${TOPICS.map(({ name, about }) => `    '${name}:${plain(about)}'`).join("\n")}
  )
  _arguments -C '--help[how it is used]' '--version[version of the sources]' \\
    '1: :->topic' '*:: :->rest' && return 0
  if [[ $state == topic ]]; then
    _describe -t commands 'mode or command' topics
    return
  fi
  case $words[1] in
${TOPICS.map(topicCase).join("\n")}
  esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _flotilla "$@"
else
  compdef _flotilla flotilla
fi
`;
