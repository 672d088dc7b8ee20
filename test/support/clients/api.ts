import { expect, test } from "bun:test";
import type { Answer, TestHub } from "../rigs/hub.ts";

/** One request and what the documents promise for it. */
export interface Scenario {
  /** Sentence after the heading. */
  name: string;
  method?: string;
  path?: string;
  send?: unknown;
  headers?: Record<string, string>;
  status: number;
  /** Matched with toMatchObject. */
  body?: object;
  before?: (hub: TestHub) => Promise<unknown>;
  after?: (hub: TestHub, answer: Answer) => Promise<unknown>;
}

/**
 * `scenarios("POST /jobs (rules/jobs#submit-a-job)", () => hub, [...])`: one test per row, all against the hub the file
 * keeps.
 */
export function scenarios(operation: string, hub: () => TestHub, rows: Scenario[]): void {
  const [method = "GET", path = "/"] = operation.split(" ");
  for (const row of rows)
    test(`${operation}: ${row.name}`, async () => {
      await row.before?.(hub());
      const answer = await hub().call(row.method ?? method, row.path ?? path, row.send, {
        headers: row.headers ?? {},
      });
      expect({ status: answer.status, text: answer.text }).toMatchObject({ status: row.status });
      if (row.body) expect(answer.body).toMatchObject(row.body);
      await row.after?.(hub(), answer);
    });
}

/** The body of a validation error at one place. */
export const issueAt = (...loc: (string | number)[]) => ({
  detail: expect.arrayContaining([
    { loc, msg: expect.any(String), type: expect.any(String) },
  ]) as unknown,
});
