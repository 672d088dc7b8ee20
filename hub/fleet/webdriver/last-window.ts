import type { FleetContext } from "../context.ts";
import type { HubSession } from "../sessions/hub-session.ts";
import { askDriver, type DriverCall } from "./ask-driver.ts";

/**
 * Whether the client is in the only window that its session has. Chromium ends with its last window, sooner than chromedriver
 * has answered: closing it is to end the session instead.
 */
export async function isInLastWindow(
  ctx: Pick<FleetContext, "clock">,
  session: HubSession,
  { by, signal }: Pick<DriverCall, "by" | "signal">,
): Promise<boolean> {
  const read = async (path: string): Promise<unknown> => {
    const answer = await askDriver(ctx, session, { method: "GET", path, body: null, by, signal });
    return answer.ok ? ((await answer.json()) as { value: unknown }).value : null;
  };
  const handles = await read("window/handles");
  return Array.isArray(handles) && handles.length === 1 && (await read("window")) === handles[0];
}
