/** The script in an engine's reply: its fenced block (the longest of several), or all of it when it looks like one. */
export function readScript(reply: string): string | null {
  const blocks = [...reply.matchAll(/^[ \t]*```[^\n`]*\n([\s\S]*?)^[ \t]*```/gm)].map(
    ([, code = ""]) => code,
  );
  // A reply that was cut before its fence closed.
  if (blocks.length === 0) {
    const open = /^[ \t]*```[^\n`]*\n([\s\S]*)$/m.exec(reply)?.[1];
    if (open !== undefined) blocks.push(open);
  }
  const longest = blocks.sort((a, b) => b.length - a.length)[0];
  if (longest !== undefined) return longest.trim() === "" ? null : `${longest.trim()}\n`;
  return /^\s*import\b[^\n]*\bfrom\s+["']flotilla["']/m.test(reply) ? `${reply.trim()}\n` : null;
}
