import { spelledWithValue } from "../args.ts";
import type { Flag } from "../flags.ts";
import { type Offered, offeredFor, TOPICS, type Topic } from "../topics.ts";

const quoted = (text: string): string => `'${text.replace(/[\\']/g, (sign) => `\\${sign}`)}'`;

/** As the arguments of `complete`; none where nothing is known of a word. */
function offers(offered: Offered): string | null {
  if (offered === "files") return "-F";
  if (offered === "directories") return "-a '(__fish_complete_directories)'";
  return offered === "nothing" ? null : `-a ${quoted(offered.choices.join(" "))}`;
}

function valuePart(placeholder: string): string {
  const offered = offers(offeredFor(placeholder));
  if (offered === null) return " -x";
  return offered === "-F" ? " -r -F" : ` -x ${offered}`;
}

const flagLine = (topic: string, { name, short, value, help }: Flag): string =>
  [
    `complete -c flotilla -n '__flotilla_in ${topic}' -l ${name}`,
    short ? ` -s ${short}` : "",
    value ? valuePart(value) : "",
    ` -d ${quoted(help)}`,
  ].join("");

const wordLines = ({ name, words }: Topic): string[] =>
  words.flatMap((word, at) => {
    const offered = offers(offeredFor(word));
    const place = word.includes("…") ? name : `${name} ${at}`;
    return offered === null ? [] : [`complete -c flotilla -n '__flotilla_in ${place}' ${offered}`];
  });

/** `flotilla completions fish`. */
export const fishCompletions = (): string => `# Completions of flotilla for fish: put this file into
# ~/.config/fish/completions/flotilla.fish

# The words of the line without flags and their values, the mode or command first.
function __flotilla_words
    set -l skip 0
    set -l topic ''
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$topic $word"
            case ${spelledWithValue()
              .flatMap(({ spelled, switch_of }) =>
                switch_of.map((topic) => `'${topic} ${spelled}'`),
              )
              .join(" ")}
                continue
        end
        switch $word
            case ${spelledWithValue()
              .map(({ spelled }) => spelled)
              .join(" ")}
                set skip 1
            case '-*'
            case '*'
                test -z "$topic"; and set topic $word
                echo $word
        end
    end
end

# Whether the line is one of this mode or command, and at this word of it.
function __flotilla_in
    set -l words (__flotilla_words)
    test "$words[1]" = $argv[1]; or return 1
    test (count $argv) -lt 2; or test (math (count $words) - 1) = $argv[2]
end

function __flotilla_first
    test (count (__flotilla_words)) = 0
end

complete -c flotilla -f
complete -c flotilla -l help -d 'How it is used'
complete -c flotilla -n __flotilla_first -l version -d 'Version of the sources'
${TOPICS.map(({ name, about }) => `complete -c flotilla -n __flotilla_first -a ${name} -d ${quoted(about)}`).join("\n")}
${TOPICS.flatMap((topic) => [
  ...topic.flags.map((flag) => flagLine(topic.name, flag)),
  ...wordLines(topic),
]).join("\n")}
`;
