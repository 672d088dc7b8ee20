import type { CdpSession, SendOptions } from "./connection.ts";

/**
 * Evaluates an expression in a frame, in a world of its own: the page neither notices it nor can have replaced what it uses.
 * @throws DeadlineError when the page does not answer; CdpError when it is gone; Error with what the expression threw.
 */
export async function evaluateInOwnWorld(
  session: CdpSession,
  frame_id: string,
  expression: string,
  options: SendOptions,
): Promise<unknown> {
  const { executionContextId } = await session.send(
    "Page.createIsolatedWorld",
    { frameId: frame_id, worldName: "flotilla" },
    options,
  );
  const { result, exceptionDetails } = await session.send(
    "Runtime.evaluate",
    { contextId: executionContextId, expression, returnByValue: true },
    options,
  );
  if (exceptionDetails)
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}
