import type { Frame, Page } from "playwright-core";
import { refused } from "./failure.ts";

// biome-ignore lint/complexity/useArrowFunction: only this gives the constructor
const AsyncFunction = async function () {}.constructor as new (...args: string[]) => unknown;

/** Whether this parses as the body of an async function; nothing is run. */
function parses(body: string): boolean {
  try {
    new AsyncFunction("arg", body);
    return true;
  } catch {
    return false;
  }
}

/**
 * The script that the page runs for `code`: an expression yields its value; a function is called with `arg`; anything
 * else is taken as the statements of a function body, with `arg`, `await` and `return`.
 */
export function scriptOf(code: string): string {
  const expression = code.replace(/;\s*$/, "");
  if (parses(`return (\n${expression}\n)`))
    return `async (arg) => { const value = (\n${expression}\n); return typeof value === "function" ? value(arg) : value; }`;
  return `async (arg) => {\n${code}\n}`;
}

/**
 * Runs `code` in a page or frame (rules/session-actions#evaluate). The result is what JSON can hold; undefined becomes null.
 * @throws ActionFailure page when the script throws or its result is not JSON.
 */
export async function evaluate(
  page: Pick<Page | Frame, "evaluate">,
  code: string,
  arg: unknown,
): Promise<unknown> {
  // Playwright evaluates a string as it is: it would not call a function that results from it.
  const value: unknown = await page.evaluate(
    `(${scriptOf(code)})(${JSON.stringify(arg) ?? "undefined"})`,
  );
  return toJson(value);
}

/** @throws ActionFailure page */
function toJson(value: unknown): unknown {
  if (value === undefined) return null;
  try {
    JSON.stringify(value);
    return value;
  } catch (err) {
    throw refused(
      `the result cannot be written as JSON: ${err instanceof Error ? err.message : err}`,
      "TypeError",
    );
  }
}
