import { FlotillaError } from "#shared/client/errors.ts";
import { DeadlineError } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { ofPage, pieceOf, said } from "./results.ts";
import type { Content } from "./tool.ts";

/** A tool that cannot do what it was asked; the message is for the model. */
export class ToolRefusal extends Error {
  override name = "ToolRefusal";
}

const MAX_ERROR_CHARS = 4_000;

/** Why a tool failed, in words; what the page said about it is marked as content of the page. */
export function failed(err: unknown): Content[] {
  if (err instanceof ToolRefusal) return [said(err.message)];
  if (err instanceof DeadlineError) return [said(`the hub does not answer: ${err.message}`)];
  if (!(err instanceof FlotillaError)) return [said(`the tool failed: ${errorMessage(err)}`)];
  if (err.status === 0) return [said(`the hub does not answer: ${err.message}`)];
  const { text } = pieceOf(err.message, { offset: 0, max_chars: MAX_ERROR_CHARS });
  const again = err.headers.get("retry-after");
  const wait = again === null ? [] : [said(`Try again in ${again} s.`)];
  const body = err.body as { error?: unknown } | null;
  if (typeof body !== "object" || body?.error === undefined)
    return [said(`refused with ${err.status}: ${text}`), ...wait];
  return [said(`the action failed (${err.status}):`), ofPage(text), ...wait];
}
