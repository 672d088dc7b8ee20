/**
 * What differs between two failures that are the same: numbers, ids, quoted texts, paths and addresses. Each becomes a
 * word in angle quotes, so that the message stays readable. The order matters: an address holds numbers, a path ids.
 */
const KINDS_OF_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]{1,19}:\/\/[^\s"'`<>()\]]*[^\s"'`<>()\].,:;]/gi, "‹url›"],
  [/\b(?:data|blob):[^\s"'`<>()]+/gi, "‹url›"],
  [/\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}\b/g, "‹address›"],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/g, "‹time›"],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, "‹id›"],
  [/\b0x[0-9a-f]+\b/gi, "‹address›"],
  [/(["'`])(?:[A-Za-z]:\\|~?\.{0,2}\/)[^"'`]*\1/g, "‹path›"],
  // Not the apostrophes of "can't" and "workers'".
  [/(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*"|`[^`\n]*`|“[^”\n]*”|‘[^’\n]*’/g, "‹text›"],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, "‹host›"],
  [/\[[0-9a-f:]*:[0-9a-f:.]+\](?::\d+)?/gi, "‹host›"],
  [/\b[a-z0-9](?:[\w-]*\.)*[\w-]*:\d{2,5}\b/gi, "‹host›"],
  [
    /\b(?:[a-z0-9][a-z0-9-]*\.)+(?:com|org|net|io|dev|app|example|invalid|local|test|internal|eu|de|uk|fr)\b/gi,
    "‹host›",
  ],
  [/(?<![\w‹])[A-Za-z]:\\[^\s"'`:]+/g, "‹path›"],
  [/(?<![\w‹])(?:~|\.{1,2})?\/[\w.@~+%-]+(?:\/[\w.@~+%-]*)*/g, "‹path›"],
  [/\b(?:[\w.@-]+\/)+[\w@-]+\.\w{1,8}\b/g, "‹path›"],
  // Ids: long, of letters and digits.
  [/\b(?=[\w-]*\d)(?=[\w-]*[a-z])[a-z0-9_-]{12,}\b/gi, "‹id›"],
  [/\b(?=[a-f0-9]*\d)[a-f0-9]{7,}\b/gi, "‹id›"],
];

/** A number that says what happened, and not to what: a status, an exit code, an error number. */
const TELLING =
  /^[1-5]\d\d(?=\s)|(?<=\b(?:http|status|code|errno|signal|exit|exited|exited with|status code)[\s:=]{1,2})\d{1,3}\b/gi;
/** Stands for a number that stays, while the others are replaced. */
const KEEP = "\ue000";
const NUMBER = /(?<![\w‹])[-+]?\d+(?:[.,_]\d+)*(?:e[-+]?\d+)?|(?<=[a-z_#-])\d+/gi;

export function generalised(message: string): string {
  let text = message.replaceAll(KEEP, " ");
  for (const [pattern, word] of KINDS_OF_WORDS) text = text.replace(pattern, word);
  const kept: string[] = [];
  text = text.replace(TELLING, (found) => {
    kept.push(found);
    return KEEP;
  });
  text = text.replace(NUMBER, "‹n›");
  return text
    .replaceAll(KEEP, () => kept.shift() ?? "")
    .replace(/\s+/g, " ")
    .trim();
}
