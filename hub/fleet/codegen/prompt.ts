import type { AttemptRow, ConventionRow, SkillRow } from "#hub/platform/db/rows.ts";
import type { ChatMessage, ChatPart } from "#shared/llm/chat-message.ts";
import type { ScriptProblem } from "../runner/script-run.ts";
import type { Shot } from "./evidence.ts";

/** The planner's prompt, cut to what a small model can read. In characters, about four to a token. */
const MAX = { notes: 4_000, skills: 12_000, conventions: 8_000, script: 12_000, tail: 3_000 };
const MAX_EARLIER = 3;

export interface PlanMaterial {
  goal: string;
  url: string;
  page: string;
  /** For engines that see. */
  picture: Shot | null;
  notes: string;
  skills: readonly SkillRow[];
  conventions: readonly ConventionRow[];
  /** Attempts of this job that failed, in order. */
  earlier: readonly AttemptRow[];
}

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}\n[… ${text.length - most} characters more]`;
const tail = (text: string, most: number): string =>
  text.length <= most ? text : `[… ${text.length - most} characters before]\n${text.slice(-most)}`;
const section = (title: string, text: string): string =>
  text.trim() === "" ? "" : `\n\n# ${title}\n${text.trim()}`;

const RULES = `You write one TypeScript script that drives a browser tab which is open already, to reach the goal you are given.
Answer with the whole script in one \`\`\`ts block and nothing else.
- Use only what the API below offers. There is no network, no file system and no other module.
- Wait for what you need instead of sleeping; choose selectors that the page shown to you has.
- Throw an Error with a clear message when the goal cannot be reached; never make results up.
- Export the result as the default export: plain JSON data that answers the goal.
- Never write passwords, tokens or other secrets into the script unless the goal itself gives them.`;

/** System and user message for one script. */
export function planMessages(api: string, material: PlanMaterial): ChatMessage[] {
  const { goal, url, page, picture, notes, skills, conventions, earlier } = material;
  const house = conventions.map(({ title, text }) => `## ${title}\n${text}`).join("\n\n");
  const known = skills
    .map(
      ({ name, slug, description, code }) =>
        `## ${name || slug}\n${description}\n\`\`\`ts\n${code}\n\`\`\``,
    )
    .join("\n\n");
  const system = `${RULES}${section("API", api)}${section("House rules", cut(house, MAX.conventions))}`;
  const text =
    `# Goal\n${goal}\n\n# Target\n${url}` +
    section("Notes on this site", cut(notes, MAX.notes)) +
    section("Snippets that worked on such sites", cut(known, MAX.skills)) +
    section("The page as it is now", page) +
    section(
      "Earlier attempts, which failed",
      earlier.slice(-MAX_EARLIER).map(earlierAttempt).join("\n\n"),
    );
  const content: ChatPart[] = [{ type: "text", text }];
  if (picture) content.push({ type: "image", ...picture });
  return [
    { role: "system", content: system },
    { role: "user", content: picture ? content : text },
  ];
}

function earlierAttempt({ n, script, error, stdout, stderr, verdict }: AttemptRow): string {
  const failed = error
    ? `It threw ${error.name}${error.line === null ? "" : ` in line ${error.line}`}: ${cut(error.message, MAX.tail)}`
    : "";
  return [
    `## Attempt ${n}`,
    script === null ? "" : `\`\`\`ts\n${cut(script, MAX.script)}\n\`\`\``,
    failed,
    stdout.trim() && `stdout:\n${tail(stdout.trim(), MAX.tail)}`,
    stderr.trim() && `stderr:\n${tail(stderr.trim(), MAX.tail)}`,
    verdict && `Verdict: ${verdict.reason}`,
    verdict?.advice && `Do differently: ${verdict.advice}`,
  ]
    .filter(Boolean)
    .join("\n");
}

/** The prompt after the static check has refused the script. */
export const correction = (problems: readonly ScriptProblem[]): string =>
  `The script was not run, because it breaks these rules:\n${problemList(problems)}\nAnswer with the whole corrected script in one \`\`\`ts block.`;

export const problemList = (problems: readonly ScriptProblem[]): string =>
  problems
    .map(({ line, message }) => (line === null ? `- ${message}` : `- line ${line}: ${message}`))
    .join("\n");

/** Messages as the attempt keeps them: images are named, not included. */
export const promptText = (messages: readonly ChatMessage[]): string =>
  messages
    .map(({ role, content }) => {
      const parts: ChatPart[] =
        typeof content === "string" ? [{ type: "text", text: content }] : content;
      const text = parts.map((p) => (p.type === "text" ? p.text : `[picture ${p.mime}]`));
      return `--- ${role}\n${text.join("\n")}`;
    })
    .join("\n\n");
