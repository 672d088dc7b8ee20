/**
 * What may be written for a word or the value of a flag: `json|table` names its choices, while words in capitals such as
 * `FILE|DIR` stand for something. Empty where it is not a choice.
 */
export function choicesOf(placeholder: string | undefined): string[] {
  const words = (placeholder ?? "").replace(/^\[(.*)\]$/, "$1").split("|");
  return words.filter((word) => /^[a-z][a-z0-9-]*$/.test(word));
}
