import type { AttemptClass, TokenUsage } from "#shared/protocol/schema/attempt.ts";

/** What one attempt of a task came to. */
export interface AttemptScore {
  /** Whether the task's own judge, who knows the truth, finds it done. */
  right: boolean;
  /** What is wrong; null when nothing is. */
  problem: string | null;
  /** What the fleet itself made of it. */
  said: AttemptClass;
  tokens: TokenUsage | null;
}

export interface TaskScore {
  task: string;
  /** From submission to the end of the job. */
  ms: number;
  attempts: AttemptScore[];
  /** Why there is no attempt to look at. */
  error: string | null;
}

/** Whether one of the first `k` attempts was right. */
export const passesAt = (k: number, { attempts }: TaskScore): boolean =>
  attempts.slice(0, k).some(({ right }) => right);

/** Verdicts that the truth contradicts: scripts taken for right that were not, and the other way round. */
export function misjudged(scores: readonly TaskScore[]): { accepted: number; refused: number } {
  const all = scores.flatMap(({ attempts }) => attempts);
  return {
    accepted: all.filter(({ right, said }) => said === "success" && !right).length,
    refused: all.filter(({ right, said }) => said !== "success" && right).length,
  };
}

function tokensOf(attempts: readonly AttemptScore[]): TokenUsage {
  const sum = (key: keyof TokenUsage) =>
    attempts.reduce((n, { tokens }) => n + (tokens?.[key] ?? 0), 0);
  return { prompt_tokens: sum("prompt_tokens"), completion_tokens: sum("completion_tokens") };
}

const yes = (value: boolean): string => (value ? "yes" : "no");
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
const showTokens = ({ prompt_tokens, completion_tokens }: TokenUsage): string =>
  `${prompt_tokens}+${completion_tokens}`;

/** One row for each task and what they come to together. `k`: how many attempts there were at most. */
export function tableOf(scores: readonly TaskScore[], k: number): string {
  const head = ["task", "pass@1", `pass@${k}`, "s", "tokens", "attempts"];
  const rows = scores.map((score) => [
    score.task,
    yes(passesAt(1, score)),
    yes(passesAt(k, score)),
    seconds(score.ms),
    showTokens(tokensOf(score.attempts)),
    score.error ??
      score.attempts
        .map(({ right, said }) => (right === (said === "success") ? said : `${said} (wrongly)`))
        .join(", "),
  ]);
  const widths = head.map((name, i) =>
    Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd();
  return [line(head), ...rows.map(line), "", summaryOf(scores, k)].join("\n");
}

function summaryOf(scores: readonly TaskScore[], k: number): string {
  const share = (at: number) => {
    const passed = scores.filter((score) => passesAt(at, score)).length;
    const percent = scores.length === 0 ? 0 : (100 * passed) / scores.length;
    return `pass@${at} ${passed}/${scores.length} (${percent.toFixed(0)} %)`;
  };
  const attempts = scores.flatMap((score) => score.attempts);
  const { accepted, refused } = misjudged(scores);
  const total = tokensOf(attempts);
  return [
    k === 1 ? share(1) : `${share(1)}, ${share(k)}`,
    `${attempts.length} attempts; taken for right wrongly: ${accepted}, for wrong wrongly: ${refused}`,
    `${total.prompt_tokens} prompt and ${total.completion_tokens} completion tokens, ` +
      `${seconds(scores.reduce((sum, { ms }) => sum + ms, 0))} s of jobs`,
  ].join("\n");
}
