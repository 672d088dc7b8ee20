import { z } from "@hono/zod-openapi";
import type { Http } from "#shared/client/http.ts";
import type { Operation } from "#shared/client/operation.ts";
import type { Clock } from "#shared/kit/clock.ts";
import type { HandOvers } from "./hand-overs.ts";

/** A part of what a tool answers, as the protocol has it. */
export type Content =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string };

/** What every tool works with. */
export interface ToolCall {
  /** Calls the hub as whoever called the tool. */
  readonly http: Http;
  readonly clock: Clock;
  /** The arguments as they were given, without defaults: an earlier hub does not know what later ones add. */
  readonly given: Record<string, unknown>;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly hand_overs: HandOvers;
  /** Tells the client how it goes, if it listens. */
  tell(message: string): void;
  /** Has the client show a person an address; null where it cannot. */
  show(address: { url: string; message: string }): Promise<"accept" | "decline" | "cancel" | null>;
}

/** Roles in the words of routes (rules/access#access-of-a-route). */
export type ToolAccess = "view" | "submit" | "operate";

/** A tool: a thin call of the API (rules/mcp#the-tools). */
export interface Tool<S extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** For people. */
  readonly title: string;
  /** For the model: what it does, when to use it, what comes next. */
  readonly about: string;
  /** Which service answers it. */
  readonly part: "fleet" | "pipeline";
  readonly args: S;
  /** What it calls: the strictest of them says who may. */
  readonly calls: readonly Operation[];
  readonly access: ToolAccess;
  /**
   * Clients ask people less about tools that read or add. `reads`: changes nothing. `changes`: adds. `acts`: a page
   * decides what comes of it. `ends`: what it ends or replaces does not come back.
   */
  readonly effect: "reads" | "changes" | "acts" | "ends";
  run(call: ToolCall, args: z.output<S>): Promise<Content[]>;
}

/** Where its arguments are known, so are those of `run`; the table holds tools of any. */
export const tool = <S extends z.ZodType>(entry: Tool<S>): Tool => entry as unknown as Tool;

/** How long a call of the hub may take that waits for nothing. */
export const CALL_MS = 30_000;

/** Arguments that several tools take. */
export const session_id = z
  .string()
  .min(1)
  .max(64)
  .describe("Of a session that session_open opened or session_list lists");
export const job_id = z.string().min(1).max(64).describe("Of a job");
export const cursor = z.string().max(200).optional().describe("next_cursor of the page before");
export const slug = z.string().min(1).max(64).describe("Of the workload");

/** The piece of a long text that is answered. */
export const PIECE = {
  offset: z.int().min(0).max(100_000_000).default(0).describe("First character of the text"),
  max_chars: z.int().min(100).max(100_000).default(20_000).describe("Length of the piece"),
};

/** How long a tool may wait for something to happen; clients give up on silent calls sooner. */
export const wait_s = z
  .number()
  .min(0)
  .max(600)
  .default(0)
  .describe("How long to wait, in seconds; call again to go on");
