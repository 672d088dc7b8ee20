import type { Issue } from "#shared/kit/errors.ts";
import { withField } from "#shared/kit/issue-words.ts";

/** A stranger's body may break a rule a million times; the answer stays small. */
const MAX_ISSUES = 50;
const MAX_TEXT = 500;

/** What zod reports of a broken rule. */
export interface ZodIssue {
  code?: string;
  message: string;
  path: PropertyKey[];
  keys?: string[];
}

const short = (text: string) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
export const locPart = (part: PropertyKey) =>
  typeof part === "number" ? part : short(String(part));

/** zod's issues as entries of a validation error, `loc` starting with `where`. Each names its field in its sentence. */
export function toIssues(issues: ZodIssue[], ...where: string[]): Issue[] {
  const out: Issue[] = [];
  for (const issue of issues) {
    const loc = [...where, ...issue.path.map(locPart)];
    const type = issue.code ?? "invalid";
    const [, ...field] = loc;
    if (issue.code === "unrecognized_keys" && issue.keys)
      for (const key of issue.keys.slice(0, MAX_ISSUES))
        out.push({ loc: [...loc, short(key)], msg: `${short(key)} is an unknown key`, type });
    else out.push({ loc, msg: short(withField(issue.message, field)), type });
    if (out.length >= MAX_ISSUES) return out.slice(0, MAX_ISSUES);
  }
  return out;
}
