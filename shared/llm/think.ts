/** A block at the beginning of a line; inside a line, the answer merely mentions the tag. */
const BLOCK = /(?:^|\n)[ \t]*<(think|thinking)>([\s\S]*?)(?:<\/\1>|$)/gi;
const CLOSING = /<\/think(?:ing)?>/i;

/**
 * Removes the think blocks from a reasoning model's answer (rules/engines#thinking): closed ones, one that never ends,
 * and one whose opening tag the chat template swallowed.
 */
export function splitThinking(raw: string): { text: string; thinking: string | null } {
  const thoughts: string[] = [];
  let text = raw;
  const closing = CLOSING.exec(text);
  const opening = text.search(/<think(?:ing)?>/i);
  if (closing && (opening === -1 || opening > closing.index)) {
    thoughts.push(text.slice(0, closing.index));
    text = text.slice(closing.index + closing[0].length);
  }
  text = text.replace(BLOCK, (_block, _tag, thought: string) => {
    thoughts.push(thought);
    return "\n";
  });
  const thinking = thoughts
    .map((thought) => thought.trim())
    .filter(Boolean)
    .join("\n\n");
  return { text: text.trim(), thinking: thinking || null };
}
