/**
 * An issue as one sentence about the field at `path`. Most name it themselves, from the body or from an object in it on:
 * `wait_seconds must be at most 60` of `options.wait_seconds`.
 */
export function issueText(path: readonly unknown[], msg: string): string {
  const field = path.join(".");
  if (field === "") return msg;
  const [named = ""] = msg.split(" ", 1);
  const isNamed = `.${field}`.endsWith(`.${named}`) || named.endsWith(`.${field}`);
  return isNamed ? field + msg.slice(named.length) : `${field}: ${msg}`;
}
